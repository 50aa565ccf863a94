// The chunks of an unsharded array, one object each, as a tree like those of sharded arrays: views
// present both alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/array/array.h"
#include "store/chunks/sharded_tree.h"

namespace unshard {

// How the objects are opened: from this store, of this format and with these keys.
using MakeShardSet = std::function<std::shared_ptr<ShardSet>(std::shared_ptr<ObjectStore>,
                                                             std::shared_ptr<const ShardFormat>,
                                                             std::shared_ptr<const ShardKeys>)>;

// Each chunk is a shard of its own (codec/shard/single_chunk.h). Objects of precomputed volumes may
// be compressed ones (store/object/suffix_store.h), of up to `max_chunk_bytes`. Fails as GridOf
// does.
Result<std::shared_ptr<ShardedTree>> MakePlainTree(std::uint32_t ordinal, const Array& array,
                                                   const MakeShardSet& make_shards,
                                                   std::shared_ptr<ChunkReader> reader,
                                                   std::shared_ptr<ObjectStore> store,
                                                   std::uint64_t max_chunk_bytes);

}  // namespace unshard
