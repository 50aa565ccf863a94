// Names of the chunk files of one array, scale or index, and of the directories that contain them,
// as an unsharded dataset would have them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "codec/grid/chunk_grid.h"

namespace unshard {

// The suffixes of compressed chunk files, in the order in which CloudVolume looks for them, after
// the name without a suffix.
inline constexpr std::array<std::string_view, 5> kCompressionSuffixes = {".gz", ".br", ".zstd",
                                                                         ".xz", ".bz2"};

// Which bytes of a chunk a file contains.
enum class ChunkPart : std::uint8_t {
  kPlain,      // the inner chunk as an unsharded dataset stores it
  kStored,     // "<name>.gz": the gzip member that the shard stores
  kFragments,  // mesh "<id>": the fragment bytes before the manifest
};

// The part that is written through a file of `part`: "<name>.gz" is another form of the plain
// chunk.
constexpr ChunkPart WrittenPart(ChunkPart part) {
  return part == ChunkPart::kStored ? ChunkPart::kPlain : part;
}

// One file of a chunk.
struct ChunkFile {
  GridCell cell{};       // of the grid; empty where chunks have ids
  std::uint64_t id = 0;  // 0 where there is a grid
  ChunkPart part = ChunkPart::kPlain;
  friend bool operator==(const ChunkFile&, const ChunkFile&) = default;
};

// A directory of the grid. Level 0 is the directory of the array itself; deeper levels exist where
// chunk keys contain '/'. `prefix` is the position, in C order, of the chunk indices in its path.
// Every directory of the grid exists; listings contain those that have chunks.
struct GridDirectory {
  unsigned level = 0;
  std::uint64_t prefix = 0;
  friend bool operator==(const GridDirectory&, const GridDirectory&) = default;
};

enum class NameKind {
  kOther,      // any other name
  kNoChunk,    // has the form of a chunk name, but no chunk can have it: NameMatch::kNoChunk
  kDirectory,  // of the grid
  kChunk,
};

struct NameMeaning {
  NameKind kind = NameKind::kOther;
  GridDirectory directory{};  // kDirectory only
  ChunkFile chunk{};          // kChunk only
};

// Immutable; thread-safe; pure functions of the metadata. Each file and directory has exactly one
// name, which Parse accepts and Path gives.
class ChunkNames {
 public:
  virtual ~ChunkNames() = default;

  // The meaning of `name`, one path component, in a directory of the grid.
  [[nodiscard]] virtual NameMeaning Parse(const GridDirectory& in, std::string_view name) const = 0;
  // The path below level 0: "c/0/3", "0-64_0-64_0-64". Requires: a cell of the grid.
  [[nodiscard]] virtual std::string Path(const ChunkFile& chunk) const = 0;
  // "" for level 0.
  [[nodiscard]] virtual std::string Path(const GridDirectory& directory) const {
    (void)directory;
    return {};
  }
  // The directory that contains a chunk, or a directory of level 1 or deeper.
  [[nodiscard]] virtual GridDirectory Parent(const ChunkFile& chunk) const {
    (void)chunk;
    return {};
  }
  [[nodiscard]] virtual GridDirectory Parent(const GridDirectory& directory) const {
    (void)directory;
    return {};
  }
  // The files of one chunk in a listing, in their order; ChunkPart::kPlain is the first.
  [[nodiscard]] virtual std::span<const ChunkPart> parts() const;
  // The number of directory levels below level 0; 0: all files are in one directory.
  [[nodiscard]] virtual unsigned depth() const { return 0; }
};

// The same names, and for each also "<name>.gz", which is ChunkPart::kStored. Requires: depth 0.
std::unique_ptr<const ChunkNames> WithGzipNames(std::unique_ptr<const ChunkNames> names);

}  // namespace unshard
