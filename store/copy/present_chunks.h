// What a destination has before anything is copied to it.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "store/copy/chunk_maker.h"
#include "store/object/object_store.h"
#include "store/shard/object.h"

namespace unshard {

// A shard of the destination, as its index says.
struct PresentShard {
  std::optional<ShardObject> object;  // decoded: ranges refer to it
  std::vector<StoredChunk> chunks;    // ascending by page and slot
  bool missing = true;
  timespec modified{};
};

// Reads the index of a shard of `to`, whose object is `key` in `store`. A missing shard has no
// chunks. Fails with kDataLoss, naming the shard and what to do, where its index is damaged.
Result<PresentShard> ReadPresentShard(ObjectStore& store, const StoredArray& to,
                                      std::uint64_t shard, const std::string& key,
                                      const CopyLimits& limits);

// Some of the arrays of a destination.
struct PresentChunks {
  std::uint64_t shards = 0;
  std::uint64_t chunks = 0;  // of unsharded arrays
  bool has_more = false;     // than these, which were not counted
  // Chunks, of shards as well, that the source lacks; nothing where they were not counted.
  std::optional<std::uint64_t> extra = 0;
};

// Adds what is stored of `maker.to()` to `counted`, up to `most` shards and chunks in all. Only
// lists the store, and nothing where that cannot list. `counts_extra`: also looks up in the source
// what is stored, and reads the indexes of shards; `extra` becomes nothing where one is damaged, or
// where there is more than `most`. Else `extra` is left as it was.
Status CountPresent(ObjectStore& store, const ChunkMaker& maker, std::uint64_t most,
                    bool counts_extra, PresentChunks& counted);

}  // namespace unshard
