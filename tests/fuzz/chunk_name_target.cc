// Arbitrary bytes as names of chunks: whatever is accepted is written back exactly.
#include "codec/grid/chunk_key.h"
#include "codec/precomputed/chunk_names.h"
#include "codec/zarr3/chunk_names.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

void ParseZarrKeys(std::string_view name, std::span<const std::uint64_t> grid_shape) {
  GridCell cell;
  for (const auto kind : {ChunkKeyEncoding::Kind::kDefault, ChunkKeyEncoding::Kind::kV2}) {
    for (const char separator : {'/', '.'}) {
      const ChunkKeyEncoding encoding{kind, separator};
      if (ParseZarrChunkKey(encoding, grid_shape, name, cell) == NameMatch::kChunk) {
        Require(ZarrChunkKey(encoding, cell) == name, "Zarr keys are strict");
      }
    }
  }
}

// If the components of `path` lead to a chunk or a directory, names.Path() writes the same path.
void WalkNames(const ChunkNames& names, std::string_view path) {
  GridDirectory in;
  for (std::string_view rest = path;;) {
    const std::size_t slash = rest.find('/');
    const NameMeaning meaning = names.Parse(in, rest.substr(0, slash));
    if (slash == std::string_view::npos) {
      if (meaning.kind == NameKind::kChunk) {
        Require(names.Path(meaning.chunk) == path, "chunk paths are strict");
        Require(names.Parent(meaning.chunk) == in, "a chunk is in one directory");
      }
      if (meaning.kind == NameKind::kDirectory) {
        Require(names.Path(meaning.directory) == path, "directory paths are strict");
        Require(names.Parent(meaning.directory) == in, "a directory is in one directory");
      }
      return;
    }
    if (meaning.kind != NameKind::kDirectory) return;
    in = meaning.directory;
    rest.remove_prefix(slash + 1);
  }
}

void WalkAllNames(const ChunkGrid& grid, std::string_view path) {
  for (const auto kind : {ChunkKeyEncoding::Kind::kDefault, ChunkKeyEncoding::Kind::kV2}) {
    for (const char separator : {'/', '.'}) {
      WalkNames(ZarrNames({kind, separator}, grid.grid_shape()), path);
    }
  }
  using Names = ShardedDirectory::Names;
  for (const auto names :
       {Names::kChunkRanges, Names::kCellCoordinates, Names::kIds, Names::kMeshes}) {
    ShardedDirectory directory;
    directory.names = names;
    directory.grid = grid;
    directory.grid_shape = grid.grid_shape();
    for (const auto encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
      directory.sharding.data_encoding = encoding;
      WalkNames(*MakePrecomputedNames(directory), path);
    }
  }
}

}  // namespace

void FuzzChunkName(ByteSpan input) {
  const std::string_view name = AsText(input);
  const auto grid = ChunkGrid::Make({1000, 64, 300}, {64, 64, 100}, {-500, 0, -300});
  Require(grid.has_value(), "the grid is made");
  GridCell cell;
  if (ParseChunkRangeName(*grid, name, cell) == NameMatch::kChunk) {
    Require(grid->Contains(cell), "names name cells of the grid");
    Require(ChunkRangeName(*grid, cell) == name, "range names are strict");
  }
  if (ParseCellCoordinatesName(grid->grid_shape(), name, cell) == NameMatch::kChunk) {
    Require(CellCoordinatesName(cell) == name, "cell names are strict");
  }
  std::uint64_t id = 0;
  ChunkPart part = ChunkPart::kFragments;
  if (ParseMeshFileName(name, id, part) == NameMatch::kChunk) {
    Require(MeshFileName(id, part) == name, "mesh names are strict");
  }
  if (ParseIdName(name, id) == NameMatch::kChunk) {
    Require(std::to_string(id) == name, "id names are strict");
  }
  ParseZarrKeys(name, grid->grid_shape());
  ParseZarrKeys(name, {});
  WalkAllNames(*grid, name);
}

}  // namespace unshard
