// Names of chunk files, of all formats. Parsing is strict: it accepts only the name that formatting
// the result would give. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// The meaning of a name in a chunk directory.
enum class NameMatch {
  kChunk,    // the name of a cell of the grid
  kNoChunk,  // has the form of a chunk name, but no chunk can have it: outside the grid, leading
             // zeros, a wrong clipped end, or a chunk name with a compression suffix that
             // CloudVolume probes for (.gz .br .zstd .xz .bz2)
  kOther,    // any other name
};

// "a" of "a.gz": the name without a suffix that CloudVolume probes for. Nothing where it has none.
std::optional<std::string_view> WithoutCompressionSuffix(std::string_view name);

// The value of an unsigned decimal without leading zeros ("0", "720575940379279312"); nothing for
// any other text, and above 2^64 - 1.
std::optional<std::uint64_t> ParseDecimal(std::string_view text);

// Precomputed volumes: "64-128_0-64_-64-0", any rank; ends clipped to the array.
std::string ChunkRangeName(const ChunkGrid& grid, std::span<const std::uint64_t> cell);
NameMatch ParseChunkRangeName(const ChunkGrid& grid, std::string_view name, GridCell& cell);

// Annotation spatial levels: "3_0_12", any rank.
std::string CellCoordinatesName(std::span<const std::uint64_t> cell);
NameMatch ParseCellCoordinatesName(std::span<const std::uint64_t> grid_shape, std::string_view name,
                                   GridCell& cell);

// Id-keyed objects (skeletons, annotations): a decimal uint64.
NameMatch ParseIdName(std::string_view name, std::uint64_t& id);

// Multi-resolution meshes: "<id>" is the file of the fragments, "<id>.index" the manifest (kPlain).
std::string MeshFileName(std::uint64_t id, ChunkPart part);
NameMatch ParseMeshFileName(std::string_view name, std::uint64_t& id, ChunkPart& part);

// Zarr v3 chunk_key_encoding. kDefault: "c/1/23/45", rank 0 "c"; kV2: "1.23.45", rank 0 "0".
struct ChunkKeyEncoding {
  enum class Kind { kDefault, kV2 } kind = Kind::kDefault;
  char separator = '/';
};
std::string ZarrChunkKey(const ChunkKeyEncoding& encoding, std::span<const std::uint64_t> cell);
// Takes a whole key, which contains '/' where that is the separator.
NameMatch ParseZarrChunkKey(const ChunkKeyEncoding& encoding,
                            std::span<const std::uint64_t> grid_shape, std::string_view key,
                            GridCell& cell);
// The number of path components of a chunk key: 1 for a flat one, else rank (+ 1 for the "c").
std::size_t ZarrChunkKeyDepth(const ChunkKeyEncoding& encoding, std::size_t rank);

}  // namespace unshard
