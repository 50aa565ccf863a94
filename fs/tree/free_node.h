// Nodes of the table for versions of a file that a writer may take over (fs/write/node_choice.h).
#pragma once

#include <functional>
#include <string>

#include "fs/tree/entry.h"
#include "fs/tree/node.h"
#include "fs/write/node_choice.h"

namespace unshard {

using MakeFreeNode = std::function<NodePtr(NodeId id, NodeUse use)>;

// The entry of a node of this identity that no writer has taken over; `attributes` has its st_ino.
// kOwn: of a node that is given to this look-up alone.
Entry ReferFreeNode(Superblock& superblock, const std::string& identity, NodeUse use,
                    const Attributes& attributes, const MakeFreeNode& make);

}  // namespace unshard
