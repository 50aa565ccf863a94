// The names of the chunk files of an unsharded array, and its grid in the axis order of its format.
// Pure; thread-safe.
#pragma once

#include <memory>

#include "codec/array/array.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// The grid in the order of chunk names: of precomputed and N5 the fastest axis first, of
// precomputed without the channels. Requires: an array that GridOf accepts.
Result<ChunkGrid> FileGridOf(const Array& array);
// The cell of FileGridOf for one of GridOf, and the inverse.
GridCell FileCellOf(Dialect dialect, const GridCell& cell);
GridCell CellOfFile(Dialect dialect, const GridCell& file_cell);

// The key encoding of a Zarr or N5 array: N5 blocks have the keys of Zarr v2 with "/".
ChunkKeyEncoding KeyEncodingOf(const Array& array);
// Never null. Requires: `grid` is FileGridOf(array).
std::unique_ptr<const ChunkNames> ChunkNamesOf(const Array& array, const ChunkGrid& grid);

}  // namespace unshard
