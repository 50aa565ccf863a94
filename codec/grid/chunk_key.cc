#include "codec/grid/chunk_key.h"

#include <algorithm>
#include <vector>

#include "codec/core/text.h"

namespace unshard {
namespace {

// Removes "-?[0-9]+" from the front of `text` and returns it; empty where there is none.
std::string_view TakeInteger(std::string_view& text) {
  std::size_t size = text.starts_with('-') ? 1 : 0;
  const std::size_t first_digit = size;
  while (size < text.size() && IsDigit(text[size])) ++size;
  if (size == first_digit) return {};
  const std::string_view integer = text.substr(0, size);
  text.remove_prefix(size);
  return integer;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The result of `parse`; kNoChunk for what would be a chunk name without its compression suffix.
template <class Parse>
NameMatch MatchOrSuffixed(std::string_view name, const Parse& parse) {
  const NameMatch match = parse(name);
  if (match != NameMatch::kOther) return match;
  const auto stem = WithoutCompressionSuffix(name);
  const bool suffixed = stem && parse(*stem) != NameMatch::kOther;
  return suffixed ? NameMatch::kNoChunk : NameMatch::kOther;
}

// Parses decimal coordinates. The name of a chunk has as many as the grid has dimensions.
NameMatch MatchCoordinates(std::span<const std::uint64_t> grid_shape,
                           const std::vector<std::string_view>& parts, GridCell& cell) {
  if (parts.size() != grid_shape.size()) return NameMatch::kOther;
  if (!std::all_of(parts.begin(), parts.end(), IsDigits)) return NameMatch::kOther;
  GridCell parsed(parts.size());
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const auto coordinate = ParseDecimal(parts[d]);
    if (!coordinate || *coordinate >= grid_shape[d]) return NameMatch::kNoChunk;
    parsed[d] = *coordinate;
  }
  cell = std::move(parsed);
  return NameMatch::kChunk;
}

struct RangeTexts {
  std::string_view begin;
  std::string_view end;
};

std::optional<RangeTexts> SplitRange(std::string_view text) {
  const std::string_view begin = TakeInteger(text);
  if (begin.empty() || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const std::string_view end = TakeInteger(text);
  if (end.empty() || !text.empty()) return std::nullopt;
  return RangeTexts{begin, end};
}

// The grid coordinate of the chunk that begins exactly at `begin`.
std::optional<std::uint64_t> CoordinateOfBegin(const ChunkGrid& grid, std::size_t dimension,
                                               std::string_view begin) {
  const auto position = ParseNumber<std::int64_t>(begin);
  const std::int64_t origin = grid.origin()[dimension];
  if (!position || *position < origin) return std::nullopt;
  const std::uint64_t offset =
      static_cast<std::uint64_t>(*position) - static_cast<std::uint64_t>(origin);
  if (offset % grid.chunk_shape()[dimension] != 0) return std::nullopt;
  const std::uint64_t coordinate = offset / grid.chunk_shape()[dimension];
  if (coordinate >= grid.grid_shape()[dimension]) return std::nullopt;
  return coordinate;
}

NameMatch MatchRanges(const ChunkGrid& grid, std::string_view name, GridCell& cell) {
  const std::vector<std::string_view> parts = Split(name, '_');
  if (parts.size() != grid.rank()) return NameMatch::kOther;
  std::vector<RangeTexts> ranges;
  for (const std::string_view part : parts) {
    const auto range = SplitRange(part);
    if (!range) return NameMatch::kOther;
    ranges.push_back(*range);
  }
  GridCell parsed(grid.rank());
  for (std::size_t d = 0; d < parsed.size(); ++d) {
    const auto coordinate = CoordinateOfBegin(grid, d, ranges[d].begin);
    if (!coordinate) return NameMatch::kNoChunk;
    parsed[d] = *coordinate;
  }
  if (ChunkRangeName(grid, parsed) != name) return NameMatch::kNoChunk;
  cell = std::move(parsed);
  return NameMatch::kChunk;
}

NameMatch MatchId(std::string_view name, std::uint64_t& id) {
  if (!IsDigits(name)) return NameMatch::kOther;
  const auto parsed = ParseDecimal(name);
  if (!parsed) return NameMatch::kNoChunk;
  id = *parsed;
  return NameMatch::kChunk;
}

constexpr std::string_view kManifestSuffix = ".index";

NameMatch MatchZarrKey(const ChunkKeyEncoding& encoding, std::span<const std::uint64_t> grid_shape,
                       std::string_view key, GridCell& cell) {
  const bool is_default = encoding.kind == ChunkKeyEncoding::Kind::kDefault;
  if (grid_shape.empty()) {
    if (key != (is_default ? "c" : "0")) return NameMatch::kOther;
    cell.clear();
    return NameMatch::kChunk;
  }
  std::vector<std::string_view> parts = Split(key, encoding.separator);
  if (is_default) {
    if (parts.front() != "c") return NameMatch::kOther;
    parts.erase(parts.begin());
  }
  return MatchCoordinates(grid_shape, parts, cell);
}

void AppendJoined(std::string& name, std::span<const std::uint64_t> cell, char separator) {
  for (std::size_t d = 0; d < cell.size(); ++d) {
    if (d > 0) name += separator;
    name += std::to_string(cell[d]);
  }
}

}  // namespace

std::optional<std::string_view> WithoutCompressionSuffix(std::string_view name) {
  for (const std::string_view suffix : kCompressionSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ParseDecimal(std::string_view text) {
  if (!IsDigits(text) || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  return ParseNumber<std::uint64_t>(text);
}

std::string ChunkRangeName(const ChunkGrid& grid, std::span<const std::uint64_t> cell) {
  std::string name;
  for (std::size_t d = 0; d < cell.size(); ++d) {
    const CellExtent extent = grid.Extent(cell, d);
    if (d > 0) name += '_';
    name += std::to_string(extent.begin);
    name += '-';
    name += std::to_string(extent.end);
  }
  return name;
}

NameMatch ParseChunkRangeName(const ChunkGrid& grid, std::string_view name, GridCell& cell) {
  return MatchOrSuffixed(name,
                         [&](std::string_view text) { return MatchRanges(grid, text, cell); });
}

std::string CellCoordinatesName(std::span<const std::uint64_t> cell) {
  std::string name;
  AppendJoined(name, cell, '_');
  return name;
}

NameMatch ParseCellCoordinatesName(std::span<const std::uint64_t> grid_shape, std::string_view name,
                                   GridCell& cell) {
  return MatchOrSuffixed(name, [&](std::string_view text) {
    return MatchCoordinates(grid_shape, Split(text, '_'), cell);
  });
}

NameMatch ParseIdName(std::string_view name, std::uint64_t& id) {
  return MatchOrSuffixed(name, [&](std::string_view text) { return MatchId(text, id); });
}

std::string MeshFileName(std::uint64_t id, ChunkPart part) {
  std::string name = std::to_string(id);
  if (part == ChunkPart::kPlain) name += kManifestSuffix;
  return name;
}

NameMatch ParseMeshFileName(std::string_view name, std::uint64_t& id, ChunkPart& part) {
  return MatchOrSuffixed(name, [&](std::string_view text) {
    const bool manifest = text.ends_with(kManifestSuffix);
    if (manifest) text.remove_suffix(kManifestSuffix.size());
    const NameMatch match = MatchId(text, id);
    if (match == NameMatch::kChunk) part = manifest ? ChunkPart::kPlain : ChunkPart::kFragments;
    return match;
  });
}

std::string ZarrChunkKey(const ChunkKeyEncoding& encoding, std::span<const std::uint64_t> cell) {
  const bool is_default = encoding.kind == ChunkKeyEncoding::Kind::kDefault;
  if (cell.empty()) return is_default ? "c" : "0";
  std::string key;
  if (is_default) {
    key += 'c';
    key += encoding.separator;
  }
  AppendJoined(key, cell, encoding.separator);
  return key;
}

NameMatch ParseZarrChunkKey(const ChunkKeyEncoding& encoding,
                            std::span<const std::uint64_t> grid_shape, std::string_view key,
                            GridCell& cell) {
  return MatchOrSuffixed(
      key, [&](std::string_view text) { return MatchZarrKey(encoding, grid_shape, text, cell); });
}

std::size_t ZarrChunkKeyDepth(const ChunkKeyEncoding& encoding, std::size_t rank) {
  if (encoding.separator != '/' || rank == 0) return 1;
  return encoding.kind == ChunkKeyEncoding::Kind::kDefault ? rank + 1 : rank;
}

}  // namespace unshard
