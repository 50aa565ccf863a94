#include "codec/pyramid/axis_map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/strided_copy.h"

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

void CopyBox(const Voxels& from, const AxisMap& map, const VoxelBox& box, Voxels& to) {
  const std::uint64_t item = from.type().size;
  const auto from_strides = StridesOf(from.shape(), item);
  const auto to_strides = StridesOf(to.shape(), item);
  const std::uint8_t* source = from.bytes().data();
  for (std::size_t axis = 0; axis < from_strides.size(); ++axis) {
    source += from_strides[axis] * box.from[axis];
  }
  std::uint8_t* target = to.mutable_bytes().data();
  std::vector<StridedAxis> axes;
  for (std::size_t axis = 0; axis < map.size(); ++axis) {
    target += to_strides[axis] * box.to[axis];
    axes.push_back({box.extent[axis], map[axis] ? from_strides[*map[axis]] : 0, to_strides[axis]});
  }
  CopyStrided(source, target, axes, item);
}

}  // namespace unshard
