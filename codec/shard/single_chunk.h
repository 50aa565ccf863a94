// Chunk files of an unsharded array as shards of one chunk, whose index is the size of the object.
#pragma once

#include <memory>
#include <string_view>

#include "codec/grid/chunk_grid.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

// Shards of one page with the slot 0, which is the whole object. A shard without its chunk is an
// empty object. Never null.
std::shared_ptr<const ShardFormat> MakeSingleChunkFormat();

// The same for objects that are compressed, with this suffix (codec/grid/chunk_names.h)
// after the chunk's name: its codec is an outer codec. Never null.
std::shared_ptr<const ShardFormat> MakeCompressedChunkFormat(std::string_view suffix);

// The shard of a cell is its position in the C order of the grid. Never null.
std::shared_ptr<const ChunkLocator> MakeSingleChunkLocator(const ChunkGrid& grid);

}  // namespace unshard
