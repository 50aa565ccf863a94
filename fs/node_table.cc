#include "fs/node_table.h"

#include "store/object/key.h"

namespace unshard {

NodeTable::NodeTable() { Refer("d:", "", DirectoryTarget{}); }

std::shared_ptr<const TableNode> NodeTable::Refer(const std::string& identity,
                                                  const std::string& inode_name,
                                                  NodeTarget target) {
  return Refer(identity, identity == "d:" ? kRootNode : StableInode(inode_name), std::move(target));
}

std::shared_ptr<const TableNode> NodeTable::Refer(const std::string& identity, std::uint64_t inode,
                                                  NodeTarget target) {
  const std::lock_guard lock(mutex_);
  const auto [found, added] = by_identity_.try_emplace(identity, next_);
  if (added) {
    auto node = std::make_shared<TableNode>();
    node->id = next_++;
    node->identity = identity;
    node->inode = inode;
    node->target = std::move(target);
    nodes_.emplace(found->second, Slot{std::move(node), 0});
  }
  Slot& slot = nodes_[found->second];
  ++slot.references;
  return slot.node;
}

bool NodeTable::ReferAgain(NodeId id) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return false;
  ++found->second.references;
  return true;
}

std::shared_ptr<const TableNode> NodeTable::Get(NodeId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second.node;
}

std::optional<NodeId> NodeTable::Find(const std::string& identity) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_identity_.find(identity);
  if (found == by_identity_.end()) return std::nullopt;
  return found->second;
}

void NodeTable::Forget(NodeId id, std::uint64_t references) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == kRootNode) return;
  if (found->second.references > references) {
    found->second.references -= references;
    return;
  }
  const auto known = by_identity_.find(found->second.node->identity);
  if (known != by_identity_.end() && known->second == id) by_identity_.erase(known);
  nodes_.erase(found);
}

void NodeTable::Disown(const std::string& identity) {
  const std::lock_guard lock(mutex_);
  by_identity_.erase(identity);
}

void NodeTable::DisownFrom(const std::string& directory) {
  for (const auto& [id, slot] : nodes_) {
    const auto* target = std::get_if<DirectoryTarget>(&slot.node->target);
    if (target != nullptr && IsAtOrBelow(target->path, directory)) {
      by_identity_.erase(slot.node->identity);
    }
  }
}

std::vector<std::string> NodeTable::Move(const std::string& from, const std::string& to,
                                         const OpaqueAt& opaque) {
  std::vector<std::string> moved;
  const auto path_after = [&](const std::string& before) {
    return to + before.substr(from.size());
  };
  const std::lock_guard lock(mutex_);
  DisownFrom(to);
  for (auto& [id, slot] : nodes_) {
    if (std::holds_alternative<LiveFileTarget>(slot.node->target)) {
      const std::lock_guard node_lock(slot.node->mutex);
      std::string& path = slot.node->live_path;
      if (IsAtOrBelow(path, from)) path = path_after(path);
      continue;
    }
    const auto* directory = std::get_if<DirectoryTarget>(&slot.node->target);
    if (directory == nullptr || !IsAtOrBelow(directory->path, from)) continue;
    const std::string path = path_after(directory->path);
    // Requests that are under way go on with the node as it was.
    auto node = std::make_shared<TableNode>();
    node->id = id;
    node->identity = "d:" + path;
    node->inode = StableInode(node->identity);
    node->target = DirectoryTarget{path, opaque(path)};
    const auto known = by_identity_.find(slot.node->identity);
    const bool named = known != by_identity_.end() && known->second == id;
    slot.node = std::move(node);
    if (!named) continue;  // was removed before
    by_identity_.erase(known);
    by_identity_[slot.node->identity] = id;
    moved.push_back(path);
  }
  return moved;
}

std::vector<std::string> NodeTable::SourcePaths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [id, slot] : nodes_) {
    const NodeTarget& target = slot.node->target;
    if (const auto* directory = std::get_if<DirectoryTarget>(&target)) {
      paths.push_back(directory->path);
    } else if (const auto* file = std::get_if<FileTarget>(&target)) {
      paths.push_back(file->path);
    } else if (const auto* live = std::get_if<LiveFileTarget>(&target)) {
      paths.push_back(live->path);
    }
  }
  return paths;
}

std::size_t NodeTable::size() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

}  // namespace unshard
