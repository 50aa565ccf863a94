// What the new version of a shard consists of: the chunks of the base with the changes on top.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "store/publish/publisher.h"
#include "store/shard/object.h"

namespace unshard {

// One chunk of the new version.
struct PlannedChunk {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  const ShardChange* change = nullptr;  // null: it stays as it is
  ByteRange base;                       // its stored bytes in the base; empty where it is new
  std::uint64_t leading = 0;            // bytes right before those, which stay
};

struct ShardPlan {
  std::vector<PlannedChunk> chunks;          // ascending by page and slot
  std::vector<std::uint64_t> changed_pages;  // ascending
  std::uint64_t kept_bytes = 0;              // of chunks that stay, leading ones included
  std::uint64_t new_bytes = 0;               // of changes, before they are encoded
  std::vector<std::pair<std::uint64_t, std::uint64_t>> conflicting;  // page and slot
  std::vector<std::pair<std::uint64_t, std::uint64_t>> refused;      // of these: that stay
};

// `base` is decoded, `index` is its index, `generation` that of the object; nothing where there is
// none. Reads what fingerprints and mesh fragments ask for.
// Fails with kDataLoss, naming the chunk, where a chunk that would stay is damaged, and with
// kInvalidArgument where a slot is changed twice or cannot be.
Result<ShardPlan> PlanShard(const PublishRequest& request, const ShardObject& base,
                            const std::optional<Generation>& generation, const ShardIndex& index,
                            const PublisherOptions& options);

// "DESCRIBED: page P, slot S", for messages.
std::string DescribeSlot(const std::string& described, std::uint64_t page, std::uint64_t slot);

}  // namespace unshard
