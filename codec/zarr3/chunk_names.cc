#include "codec/zarr3/chunk_names.h"

#include <span>
#include <utility>

#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::string_view kPrefix = "c";

std::span<const std::uint64_t> First(const std::vector<std::uint64_t>& numbers, std::size_t count) {
  return std::span<const std::uint64_t>(numbers).first(count);
}

}  // namespace

ZarrNames::ZarrNames(const ChunkKeyEncoding& encoding, std::vector<std::uint64_t> grid_shape)
    : encoding_(encoding),
      grid_shape_(std::move(grid_shape)),
      depth_(static_cast<unsigned>(ZarrChunkKeyDepth(encoding, grid_shape_.size()) - 1)),
      prefix_levels_(depth_ > 0 && encoding.kind == ChunkKeyEncoding::Kind::kDefault ? 1 : 0) {}

GridCell ZarrNames::Indices(const GridDirectory& in) const {
  GridCell indices(IndexCount(in));
  CellOfLinearIndex(First(grid_shape_, indices.size()), in.prefix, indices);
  return indices;
}

NameMeaning ZarrNames::Child(const GridDirectory& in, std::uint64_t index) const {
  const std::size_t dimension = IndexCount(in);
  if (dimension + 1 < grid_shape_.size()) {
    const std::uint64_t prefix = in.prefix * grid_shape_[dimension] + index;
    return {NameKind::kDirectory, {in.level + 1, prefix}};
  }
  ChunkFile chunk{Indices(in)};
  chunk.cell.push_back(index);
  return {NameKind::kChunk, {}, std::move(chunk)};
}

NameMeaning ZarrNames::Parse(const GridDirectory& in, std::string_view name) const {
  if (depth_ == 0) {
    ChunkFile chunk;
    const NameMatch match = ParseZarrChunkKey(encoding_, grid_shape_, name, chunk.cell);
    if (match == NameMatch::kChunk) return {NameKind::kChunk, {}, std::move(chunk)};
    return {match == NameMatch::kNoChunk ? NameKind::kNoChunk : NameKind::kOther};
  }
  if (HoldsPrefix(in)) {
    if (name == kPrefix) return {NameKind::kDirectory, {1, 0}};
    return {};
  }
  if (!IsDigits(WithoutCompressionSuffix(name).value_or(name))) return {};
  const auto index = ParseDecimal(name);
  if (!index || *index >= grid_shape_[IndexCount(in)]) return {NameKind::kNoChunk};
  return Child(in, *index);
}

std::string ZarrNames::Path(const ChunkFile& chunk) const {
  return ZarrChunkKey(encoding_, chunk.cell);
}

std::string ZarrNames::Path(const GridDirectory& in) const {
  std::string path(in.level > 0 && prefix_levels_ > 0 ? kPrefix : "");
  for (const std::uint64_t index : Indices(in)) {
    if (!path.empty()) path += '/';
    path += std::to_string(index);
  }
  return path;
}

GridDirectory ZarrNames::Parent(const ChunkFile& chunk) const {
  if (depth_ == 0) return {};
  const std::size_t count = chunk.cell.size() - 1;
  return {depth_, LinearIndex(First(grid_shape_, count), First(chunk.cell, count))};
}

GridDirectory ZarrNames::Parent(const GridDirectory& in) const {
  if (in.level <= 1) return {};
  return {in.level - 1, in.prefix / grid_shape_[IndexCount(in) - 1]};
}

}  // namespace unshard
