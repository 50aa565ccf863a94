#include "codec/pyramid/axis_map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/strided_copy.h"
#include "codec/core/text.h"
#include "codec/json/meaning.h"

namespace unshard {
namespace {

constexpr std::size_t kVolumeRank = 4;  // c, z, y, x

// The position among these of an axis with such a name or kind; nothing for any other axis.
std::optional<std::size_t> VolumeAxisOf(const PyramidAxis& axis) {
  if (axis.kind == PyramidAxis::Kind::kChannel) return 0;
  if (axis.kind == PyramidAxis::Kind::kTime) return std::nullopt;
  const std::string name = LowerCase(axis.name);
  if (name == "z") return 1;
  if (name == "y") return 2;
  if (name == "x") return 3;
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

// --- Matching two arrays

bool SameTypes(const DataType& from, const DataType& to) {
  if (from == to) return true;
  return from.kind == DataType::Kind::kBool && to.kind == DataType::Kind::kUnsigned && to.size == 1;
}

std::vector<std::string> NamesOf(std::span<const PyramidAxis> axes) {
  std::vector<std::string> names;
  for (const PyramidAxis& axis : axes) names.push_back(LowerCase(axis.name));
  return names;
}

// Empty unless every axis has one.
std::vector<std::string> NamesOf(const Array& array) {
  std::vector<std::string> names;
  for (const auto& name : array.axis_names) {
    if (!name || name->empty()) return {};
    names.push_back(LowerCase(*name));
  }
  return names.size() == array.rank() ? names : std::vector<std::string>();
}

bool AreDistinct(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return !names.empty() && !names.front().empty() &&
         std::adjacent_find(names.begin(), names.end()) == names.end();
}

// Nothing unless both have the same names, each once.
std::optional<AxisMap> MapByName(const std::vector<std::string>& from,
                                 const std::vector<std::string>& to) {
  if (from.size() != to.size() || !AreDistinct(from)) return std::nullopt;
  AxisMap map;
  for (const std::string& name : to) {
    const auto found = std::find(from.begin(), from.end(), name);
    if (found == from.end()) return std::nullopt;
    map.emplace_back(static_cast<std::size_t>(found - from.begin()));
  }
  return map;
}

// Axis by axis in order, where axes of extent 1 are added and dropped.
std::optional<AxisMap> MapInOrder(const std::vector<std::uint64_t>& from,
                                  const std::vector<std::uint64_t>& to) {
  AxisMap map;
  std::size_t next = 0;
  for (const std::uint64_t extent : to) {
    while (next < from.size() && from[next] == 1 && extent != 1) ++next;
    if (next < from.size() && from[next] == extent) {
      map.emplace_back(next++);
    } else if (extent == 1) {
      map.emplace_back();
    } else {
      return std::nullopt;
    }
  }
  while (next < from.size() && from[next] == 1) ++next;
  return next == from.size() ? std::optional(std::move(map)) : std::nullopt;
}

// Whether `map` leads from every extent of `from` but 1 to the same one of `to`.
bool Fits(const AxisMap& map, const std::vector<std::uint64_t>& from,
          const std::vector<std::uint64_t>& to) {
  if (map.size() != to.size()) return false;
  std::vector<bool> used(from.size(), false);
  for (std::size_t axis = 0; axis < map.size(); ++axis) {
    if (to[axis] != (map[axis] ? from[*map[axis]] : 1)) return false;
    if (map[axis]) used[*map[axis]] = true;
  }
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (!used[axis] && from[axis] != 1) return false;
  }
  return true;
}

tl::unexpected<Error> ShapesDiffer(const Array& from, const Array& to,
                                   const std::vector<std::uint64_t>& expected) {
  std::string message = "expected the shape " + ShapeText(expected) + " of the source (" +
                        std::string(DialectName(from.dialect)) + "), slowest axis first, found " +
                        ShapeText(to.shape) + " (" + std::string(DialectName(to.dialect)) + ")";
  for (std::size_t axis = 0; expected.size() == to.rank() && axis < to.rank(); ++axis) {
    if (expected[axis] == to.shape[axis]) continue;
    const bool named = axis < to.axis_names.size() && to.axis_names[axis];
    message += ": axis " + (named ? *to.axis_names[axis] : std::to_string(axis)) + " has " +
               std::to_string(to.shape[axis]) + " voxels instead of " +
               std::to_string(expected[axis]);
    break;
  }
  return Fail(ErrorCode::kInvalidArgument, message);
}

}  // namespace

Result<AxisMap> MapAxes(std::span<const PyramidAxis> axes, std::span<const std::uint64_t> shape,
                        Dialect from, Dialect to) {
  AxisMap map;
  const bool from_volume = from == Dialect::kPrecomputed;
  if (to == Dialect::kPrecomputed && !from_volume) return MapToVolume(axes, shape);
  const bool drops_channel = from_volume && to != from && shape.front() == 1;
  for (std::size_t axis = drops_channel ? 1 : 0; axis < axes.size(); ++axis) map.emplace_back(axis);
  return map;
}

Result<AxisMap> MatchArrays(const Array& from, std::span<const PyramidAxis> from_axes,
                            const Array& to) {
  const bool same_items = SameMeaning(from.item_type, to.item_type);
  if (!same_items || !SameTypes(from.data_type, to.data_type)) {
    return Fail(ErrorCode::kInvalidArgument, "expected the data type ", ItemTypeName(from),
                " of the source, found ", ItemTypeName(to));
  }
  if (auto map = MapByName(NamesOf(from_axes), NamesOf(to))) {
    if (Fits(*map, from.shape, to.shape)) return *std::move(map);
    return ShapesDiffer(from, to, MapList<std::uint64_t>(*map, from.shape, 1));
  }
  auto ruled = MapAxes(from_axes, from.shape, from.dialect, to.dialect);
  if (ruled && Fits(*ruled, from.shape, to.shape)) return ruled;
  if (auto map = MapInOrder(from.shape, to.shape)) return *std::move(map);
  if (!ruled) {
    return Fail(ErrorCode::kInvalidArgument, std::move(ruled).error().message);
  }
  return ShapesDiffer(from, to, MapList<std::uint64_t>(*ruled, from.shape, 1));
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
