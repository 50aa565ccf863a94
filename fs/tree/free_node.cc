#include "fs/tree/free_node.h"

#include "fs/tree/superblock.h"

namespace unshard {

Entry ReferFreeNode(Superblock& superblock, const std::string& identity, NodeUse use,
                    const Attributes& attributes, const MakeFreeNode& make) {
  std::string name = identity;
  if (use == NodeUse::kOwn) name += '#' + std::to_string(++superblock.own_nodes);
  for (int i = 0;; ++i) {
    if (use == NodeUse::kRevalidated) name = identity + '+' + std::to_string(i);
    const NodePtr node = superblock.nodes.Refer(name, [&](NodeId id) { return make(id, use); });
    if (superblock.open_versions.IsTaken(node->id())) {
      superblock.nodes.Forget(node->id(), 1);
      use = NodeUse::kRevalidated;
      continue;
    }
    Entry entry{node->id(), attributes, superblock.Timeout()};
    if (use == NodeUse::kCached) return entry;
    // The name is looked up each time, and the attributes with it. A node that was given to one
    // look-up alone may be opened with a later version, so its attributes have no time to live.
    entry.timeout_milliseconds = 0;
    entry.attributes_milliseconds = use == NodeUse::kOwn ? 0 : superblock.Timeout();
    return entry;
  }
}

}  // namespace unshard
