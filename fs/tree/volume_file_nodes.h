// Which nodes of whole-volume files have pages of the chunks of a tree (ChunkTree::stored_ordinal).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "fs/common/node_id.h"

namespace unshard {

// Thread-safe.
class VolumeFileNodes {
 public:
  void Add(std::uint32_t tree, NodeId node) {
    const std::lock_guard lock(mutex_);
    nodes_.emplace(tree, node);
  }
  void Remove(std::uint32_t tree, NodeId node) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = nodes_.equal_range(tree);
    for (auto at = begin; at != end; ++at) {
      if (at->second == node) return void(nodes_.erase(at));
    }
  }
  [[nodiscard]] std::vector<NodeId> Of(std::uint32_t tree) const {
    const std::lock_guard lock(mutex_);
    std::vector<NodeId> found;
    const auto [begin, end] = nodes_.equal_range(tree);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::multimap<std::uint32_t, NodeId> nodes_;  // guarded by mutex_
};

}  // namespace unshard
