// Whether shards of a format can be published at all, asked before anything is accepted for them.
#pragma once

#include <cstdint>

#include "codec/core/error.h"
#include "codec/shard/format.h"

namespace unshard {

// What a publish may hold in memory.
struct PublishCaps {
  std::uint64_t index_bytes = 0;        // of all pages of one shard
  std::uint64_t whole_shard_bytes = 0;  // of a shard with outer codecs
};

// kNotSupported where shards of this format cannot be written, have more minishards or nested
// shards than a publish walks to, or an index above the caps even with a single chunk.
Status CanPublishFormat(const ShardFormat& format, const PublishCaps& caps);

}  // namespace unshard
