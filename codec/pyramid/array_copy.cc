#include "codec/pyramid/array_copy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/chain/transpose.h"
#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "codec/pyramid/missing_values.h"

namespace unshard {
namespace {

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
std::vector<std::string> NamesOf(const ArrayMetadata& array) {
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

tl::unexpected<Error> ShapesDiffer(const ArrayMetadata& from, const ArrayMetadata& to,
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

Result<AxisMap> MatchArrays(const ArrayMetadata& from, std::span<const PyramidAxis> from_axes,
                            const ArrayMetadata& to) {
  if (!SameTypes(from.data_type, to.data_type)) {
    return Fail(ErrorCode::kInvalidArgument, "expected the data type ",
                DataTypeName(from.data_type), " of the source, found ", DataTypeName(to.data_type));
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

Result<ArrayCopy> ArrayCopy::Make(ArrayMetadata from, ArrayMetadata to, AxisMap axes) {
  const bool same_edges = ClipsChunks(from.dialect) == ClipsChunks(to.dialect) || IsEven(from);
  const BlockForm form =
      same_edges && HasSameGrid(from, to, axes) ? FormOf(from, to, axes) : BlockForm::kTranscode;
  UNSHARD_ASSIGN_OR_RETURN(ChunkMapping mapping, ChunkMapping::Make(std::move(from), std::move(to),
                                                                    std::move(axes), form));
  const ArrayCopy copy(std::move(mapping));
  const bool encodes = copy.form() == BlockForm::kTranscode ||
                       copy.form() == BlockForm::kStripHeader || copy.writes_absent();
  if (encodes) {
    UNSHARD_RETURN_IF_ERROR(copy.from().codec->CanDecode());
    UNSHARD_RETURN_IF_ERROR(copy.to().codec->CanEncode());
  }
  return copy;
}

Status ArrayCopy::Check(ByteSpan chunk, const GridCell& from_cell) const {
  const auto shape = FromShape(from_cell);
  if (from().codec->EncodedSize(shape) == chunk.size()) {
    // Raw items of the right size can be decoded.
    const auto plain = PlainItemsOf(*from().codec);
    if (plain && plain->compression.empty()) return {};
  }
  if (!from().codec->CanDecode()) return {};
  UNSHARD_RETURN_IF_ERROR(from().codec->Decode(chunk, shape));
  return {};
}

bool ArrayCopy::IsFill(const Voxels& voxels) const {
  if (!DefinesAbsent(to())) return false;
  const ByteSpan bytes = voxels.bytes();
  const auto item = static_cast<std::ptrdiff_t>(to_fill().size());
  const bool begins = bytes.size() >= to_fill().size() &&
                      std::equal(to_fill().begin(), to_fill().end(), bytes.begin());
  // Then each item is the fill value if it is the one before it.
  return bytes.empty() || (begins && std::equal(bytes.begin() + item, bytes.end(), bytes.begin()));
}

Result<Voxels> ArrayCopy::DecodeCopied(ByteSpan chunk, const GridCell& to_cell) const {
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, to().codec->Decode(chunk, ToShape(to_cell)));
  const Shape within = to_grid().ClippedShape(to_cell);
  if (within == voxels.shape()) return voxels;
  UNSHARD_ASSIGN_OR_RETURN(Voxels clipped,
                           Voxels::Filled(voxels.type(), voxels.shape(), to_fill()));
  const GridCell begin(within.size(), 0);
  CopyBox(voxels, SameAxes(within.size()), {begin, begin, within}, clipped);
  return clipped;
}

Result<std::optional<ByteVector>> ArrayCopy::Encode(Voxels voxels) const {
  if (IsFill(voxels)) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(ByteVector encoded, to().codec->Encode(std::move(voxels)));
  return std::optional<ByteVector>(std::move(encoded));
}

}  // namespace unshard
