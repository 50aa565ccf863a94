// Arbitrary bytes as names of chunks: whatever is accepted is written back exactly.
#include "codec/grid/chunk_key.h"
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
  MeshFile file = MeshFile::kFragments;
  if (ParseMeshFileName(name, id, file) == NameMatch::kChunk) {
    Require(MeshFileName(id, file) == name, "mesh names are strict");
  }
  if (ParseIdName(name, id) == NameMatch::kChunk) {
    Require(std::to_string(id) == name, "id names are strict");
  }
  ParseZarrKeys(name, grid->grid_shape());
  ParseZarrKeys(name, {});
}

}  // namespace unshard
