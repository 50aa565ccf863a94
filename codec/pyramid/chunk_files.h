// The names of the chunk files of an unsharded array, and its grid in the axis order of its format.
// Pure; thread-safe.
#pragma once

#include <memory>

#include "codec/array/array_metadata.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// The grid in the order of chunk names: of precomputed and N5 the fastest axis first, of
// precomputed without the channels. Requires: an array that GridOf accepts.
Result<ChunkGrid> FileGridOf(const ArrayMetadata& array);
// The cell of FileGridOf for one of GridOf, and the inverse.
GridCell FileCellOf(ArrayDialect dialect, const GridCell& cell);
GridCell CellOfFile(ArrayDialect dialect, const GridCell& file_cell);

// The key encoding of a Zarr or N5 array: N5 blocks have the keys of Zarr v2 with "/".
ChunkKeyEncoding KeyEncodingOf(const ArrayMetadata& array);
// Never null. Requires: `grid` is FileGridOf(array).
std::unique_ptr<const ChunkNames> ChunkNamesOf(const ArrayMetadata& array, const ChunkGrid& grid);

}  // namespace unshard
