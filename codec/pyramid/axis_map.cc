#include "codec/pyramid/axis_map.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "codec/core/lower_case.h"

namespace unshard {
namespace {

constexpr std::size_t kVolumeRank = 4;  // c, z, y, x

// The position among these of an axis with such a name or kind; nothing for any other axis.
std::optional<std::size_t> VolumeAxisOf(const PyramidAxis& axis) {
  const std::string name = LowerCase(axis.name);
  if (name == "z") return 1;
  if (name == "y") return 2;
  if (name == "x") return 3;
  if (axis.kind == PyramidAxis::Kind::kChannel) return 0;
  return std::nullopt;
}

bool AnyIsNamed(std::span<const PyramidAxis> axes) {
  return std::any_of(axes.begin(), axes.end(), [](const PyramidAxis& axis) {
    const auto place = VolumeAxisOf(axis);
    return place && *place != 0;
  });
}

Result<AxisMap> MapToVolume(std::span<const PyramidAxis> axes,
                            std::span<const std::uint64_t> shape) {
  AxisMap map(kVolumeRank);
  const bool by_name = AnyIsNamed(axes);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::size_t from_end = axes.size() - axis;
    std::optional<std::size_t> place = VolumeAxisOf(axes[axis]);
    if (!by_name) {
      place = from_end <= kVolumeRank ? std::optional(kVolumeRank - from_end) : std::nullopt;
    }
    if (place && !map[*place]) {
      map[*place] = axis;
    } else if (shape[axis] != 1) {
      const std::string name =
          axes[axis].name.empty() ? "number " + std::to_string(axis) : axes[axis].name;
      return Fail(ErrorCode::kNotSupported, "the axis ", name, " of extent ", shape[axis],
                  " is none of x, y, z and channel");
    }
  }
  if (map[2] && map[3]) return map;
  return Fail(ErrorCode::kNotSupported, "the ", axes.size(),
              " axes of the array do not include both x and y");
}

}  // namespace

Result<AxisMap> MapAxes(std::span<const PyramidAxis> axes, std::span<const std::uint64_t> shape,
                        ArrayDialect from, ArrayDialect to) {
  AxisMap map;
  const bool from_volume = from == ArrayDialect::kPrecomputed;
  if (to == ArrayDialect::kPrecomputed && !from_volume) return MapToVolume(axes, shape);
  const bool drops_channel = from_volume && to != from && shape.front() == 1;
  for (std::size_t axis = drops_channel ? 1 : 0; axis < axes.size(); ++axis) map.emplace_back(axis);
  return map;
}

AxisMap SameAxes(std::size_t rank) {
  AxisMap map;
  for (std::size_t axis = 0; axis < rank; ++axis) map.emplace_back(axis);
  return map;
}

AxisMap InverseMap(const AxisMap& map, std::size_t rank) {
  AxisMap inverse(rank);
  for (std::size_t axis = 0; axis < map.size(); ++axis) {
    if (map[axis]) inverse[*map[axis]] = axis;
  }
  return inverse;
}

bool KeepsOrder(const AxisMap& map) {
  std::optional<std::size_t> last;
  for (const auto& axis : map) {
    if (!axis) continue;
    if (last && *axis < *last) return false;
    last = axis;
  }
  return true;
}

namespace {

// Copies a box axis by axis; the innermost axis at once where its items are adjacent in both
// chunks.
class BoxCopy {
 public:
  BoxCopy(const Voxels& from, const AxisMap& map, const VoxelBox& box, Voxels& to)
      : item_(from.type().size), from_(from.bytes().data()), to_(to.mutable_bytes().data()) {
    std::vector<std::uint64_t> strides(from.shape().size(), item_);
    for (std::size_t axis = strides.size(); axis-- > 1;) {
      strides[axis - 1] = strides[axis] * from.shape()[axis];
    }
    for (std::size_t axis = 0; axis < strides.size(); ++axis)
      from_ += strides[axis] * box.from[axis];
    std::uint64_t stride = item_;
    dimensions_.resize(map.size());
    for (std::size_t axis = map.size(); axis-- > 0;) {
      dimensions_[axis] = {box.extent[axis], map[axis] ? strides[*map[axis]] : 0, stride};
      to_ += stride * box.to[axis];
      stride *= to.shape()[axis];
    }
  }

  void Run() const { Copy(0, from_, to_); }

 private:
  struct Dimension {
    std::uint64_t extent = 0;
    std::uint64_t from_stride = 0;
    std::uint64_t to_stride = 0;
  };

  void Copy(std::size_t axis, const std::uint8_t* from, std::uint8_t* to) const {
    if (axis == dimensions_.size()) {
      std::memcpy(to, from, item_);
      return;
    }
    const Dimension& one = dimensions_[axis];
    const bool innermost = axis + 1 == dimensions_.size();
    if (innermost && (one.from_stride == item_ || one.extent == 1)) {
      std::memcpy(to, from, one.extent * item_);
      return;
    }
    for (std::uint64_t i = 0; i < one.extent; ++i) {
      Copy(axis + 1, from + i * one.from_stride, to + i * one.to_stride);
    }
  }

  const std::uint64_t item_;
  const std::uint8_t* from_;
  std::uint8_t* to_;
  std::vector<Dimension> dimensions_;
};

}  // namespace

void CopyBox(const Voxels& from, const AxisMap& map, const VoxelBox& box, Voxels& to) {
  const bool empty = std::any_of(box.extent.begin(), box.extent.end(),
                                 [](std::uint64_t extent) { return extent == 0; });
  if (!empty) BoxCopy(from, map, box, to).Run();
}

}  // namespace unshard
