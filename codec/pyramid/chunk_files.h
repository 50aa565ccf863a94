// The names of the chunk files of an unsharded array, in the axis order of its format.
#pragma once

#include <memory>

#include "codec/array/array_metadata.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// The grid as names list its cells: precomputed and N5 fastest axis first, precomputed without the
// channels. Requires: an array that GridOf accepts.
Result<ChunkGrid> FileGridOf(const ArrayMetadata& array);
// The cell of FileGridOf for one of GridOf, and the inverse.
GridCell FileCellOf(ArrayDialect dialect, const GridCell& cell);
GridCell CellOfFile(ArrayDialect dialect, const GridCell& file_cell);

// Of Zarr and N5; N5 blocks have the keys of Zarr v2 with "/".
ChunkKeyEncoding KeyEncodingOf(const ArrayMetadata& array);
// Never null. Requires: `grid` is FileGridOf(array).
std::unique_ptr<const ChunkNames> ChunkNamesOf(const ArrayMetadata& array, const ChunkGrid& grid);

}  // namespace unshard
