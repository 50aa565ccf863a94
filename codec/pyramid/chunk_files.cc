#include "codec/pyramid/chunk_files.h"

#include <algorithm>

#include "codec/precomputed/chunk_names.h"
#include "codec/zarr3/chunk_names.h"

namespace unshard {
namespace {

template <class T>
std::vector<T> InFileOrder(Dialect dialect, std::vector<T> values) {
  if (dialect == Dialect::kPrecomputed && !values.empty()) values.erase(values.begin());
  if (ListsFastestAxisFirst(dialect)) std::reverse(values.begin(), values.end());
  return values;
}

}  // namespace

Result<ChunkGrid> FileGridOf(const Array& array) {
  if (array.rectilinear) return *array.rectilinear;
  return ChunkGrid::Make(InFileOrder(array.dialect, array.shape),
                         InFileOrder(array.dialect, array.chunk_shape),
                         InFileOrder(array.dialect, array.origin));
}

GridCell FileCellOf(Dialect dialect, const GridCell& cell) { return InFileOrder(dialect, cell); }

GridCell CellOfFile(Dialect dialect, const GridCell& file_cell) {
  GridCell cell = file_cell;
  if (ListsFastestAxisFirst(dialect)) std::reverse(cell.begin(), cell.end());
  if (dialect == Dialect::kPrecomputed) cell.insert(cell.begin(), 0);
  return cell;
}

ChunkKeyEncoding KeyEncodingOf(const Array& array) {
  if (array.dialect == Dialect::kN5) return {ChunkKeyEncoding::Kind::kV2, '/'};
  return array.key_encoding;
}

std::unique_ptr<const ChunkNames> ChunkNamesOf(const Array& array, const ChunkGrid& grid) {
  if (array.dialect != Dialect::kPrecomputed) {
    return std::make_unique<ZarrNames>(KeyEncodingOf(array), grid.grid_shape());
  }
  ShardedDirectory directory;
  directory.names = ShardedDirectory::Names::kChunkRanges;
  directory.grid = grid;
  directory.grid_shape = grid.grid_shape();
  return MakePrecomputedNames(directory);
}

}  // namespace unshard
