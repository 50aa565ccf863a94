// Whether a shard can be published at all, asked before anything is accepted for it.
#pragma once

#include <cstdint>
#include <string>

#include "codec/shard/format.h"
#include "store/local/file_system.h"

namespace unshard {

// What a publish may hold in memory.
struct PublishCaps {
  std::uint64_t index_bytes = 0;    // of all pages of one shard
  std::uint64_t wrapped_bytes = 0;  // of a shard in a codec of its own
};

// kNotSupported where shards of this format cannot be written, have more minishards or nested
// shards than a publish walks to, or an index above the caps even with a single chunk.
Status CanPublishFormat(const ShardFormat& format, const PublishCaps& caps);

// Fails as making a file would in the directory of the shard `key`, or in the nearest one above it
// that is there: a read-only file system, another user's directory.
Status CanPublishInto(FileSystem& files, const std::string& key);

}  // namespace unshard
