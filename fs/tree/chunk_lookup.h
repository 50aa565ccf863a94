// LOOKUP of a chunk's name: chooses the node of the answer (fs/write/node_choice.h).
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "codec/core/error.h"
#include "fs/tree/entry.h"
#include "store/chunks/chunk_tree.h"

namespace unshard {

struct Superblock;

// The node of the staged inode that `thread` was redirected to, else of the version that readers
// get. Node 0 where the chunk is absent.
Result<Entry> LookupChunk(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                          const ChunkRef& chunk, pid_t thread);
// The answer to the LOOKUP of the name: where the store of a writable mount is away, a node at
// which the chunk can be replaced (fs/tree/away_store.h).
Result<Entry> LookupChunkName(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                              const ChunkRef& chunk, pid_t thread);
// For a listing: the entry of a chunk without a writer, where that needs no I/O.
std::optional<Entry> EntryWithoutIo(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                                    const ChunkRef& chunk);

}  // namespace unshard
