// The paths of chunk files, by cells in the array's order of axes.
#pragma once

#include <string>

#include "codec/pyramid/chunk_files.h"

namespace unshard {

// The path of the chunk at `cell`, a cell of GridOf(array), below the array's directory.
inline std::string ChunkPathOf(const Array& array, const GridCell& cell) {
  const ChunkGrid grid = FileGridOf(array).value();
  ChunkFile file;
  file.cell = FileCellOf(array.dialect, cell);
  return ChunkNamesOf(array, grid)->Path(file);
}

}  // namespace unshard
