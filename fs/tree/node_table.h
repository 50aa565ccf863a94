// Nodes without an arithmetic number: directories and files of the source, metadata documents,
// id-keyed chunks, control files. A node lives as long as the kernel refers to it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/common/node_id.h"
#include "fs/tree/node.h"

namespace unshard {

// Thread-safe. The first node that is made is the root, which is never forgotten.
class NodeTable {
 public:
  using Make = std::function<NodePtr(NodeId id)>;
  // The node of `identity`, made if there is none, with one more reference of the kernel's
  // (nlookup). Two nodes never share an identity, which consists of the file and its generation.
  // `make` is called under the table's lock.
  NodePtr Refer(const std::string& identity, const Make& make) {
    return ReferAs(0, identity, make);
  }
  // The same for a node of .unshard, which is known by its number (IsControlNode).
  NodePtr ReferControl(const std::string& identity, const Make& make) {
    return ReferAs(kControlNodes, identity, make);
  }
  // One more reference to a node that the kernel refers to; false where it does not.
  bool ReferAgain(NodeId id);
  // Null where the kernel holds no reference. The root is always there.
  NodePtr Get(NodeId id) const;
  // The node of an identity, if the kernel refers to it.
  std::optional<NodeId> Find(const std::string& identity) const;
  // True where the kernel refers to it no more. The root stays.
  bool Forget(NodeId id, std::uint64_t references);
  // A directory or file of the source was renamed, and `to` replaced: the nodes at and below `from`
  // get new paths, as the kernel moves its dentries. Returns the new paths of the directories.
  std::vector<std::string> Move(const std::string& from, const std::string& to);
  // The file or directory of this identity was removed: the next one of its name gets another node.
  void Disown(const std::string& identity);
  // The paths of all directories and files of the source that the kernel refers to.
  [[nodiscard]] std::vector<std::string> SourcePaths() const;
  [[nodiscard]] std::size_t size() const;

  // The identity of a directory of the source.
  static std::string DirectoryIdentity(const std::string& path) { return "d:" + path; }

 private:
  struct Slot {
    NodePtr node;
    std::string identity;
    std::uint64_t references = 0;
  };
  NodePtr ReferAs(NodeId kind, const std::string& identity, const Make& make);
  [[nodiscard]] bool IsNamed(NodeId id, const Slot& slot) const;  // requires the mutex

  mutable std::mutex mutex_;
  std::unordered_map<NodeId, Slot> nodes_;               // guarded by mutex_
  std::unordered_map<std::string, NodeId> by_identity_;  // guarded by mutex_
  NodeId next_ = kRootNode;                              // guarded by mutex_
};

}  // namespace unshard
