#include "fs/tree/node_table.h"

#include "store/object/key.h"

namespace unshard {

NodePtr NodeTable::ReferAs(NodeId kind, const std::string& identity, const Make& make) {
  const std::lock_guard lock(mutex_);
  if (const auto known = by_identity_.find(identity); known != by_identity_.end()) {
    Slot& slot = nodes_.at(known->second);
    ++slot.references;
    return slot.node;
  }
  const NodeId id = kind | next_++;
  NodePtr node = make(id);
  nodes_.emplace(id, Slot{node, identity, 1});
  try {
    by_identity_.emplace(identity, id);
  } catch (...) {
    nodes_.erase(id);
    throw;
  }
  return node;
}

bool NodeTable::ReferAgain(NodeId id) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return false;
  ++found->second.references;
  return true;
}

NodePtr NodeTable::Get(NodeId id) const {
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

bool NodeTable::IsNamed(NodeId id, const Slot& slot) const {
  const auto known = by_identity_.find(slot.identity);
  return known != by_identity_.end() && known->second == id;
}

bool NodeTable::Forget(NodeId id, std::uint64_t references) {
  NodePtr gone;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return true;
  if (id == kRootNode) return false;
  if (found->second.references > references) {
    found->second.references -= references;
    return false;
  }
  if (IsNamed(id, found->second)) by_identity_.erase(found->second.identity);
  gone = std::move(found->second.node);
  nodes_.erase(found);
  return true;
}

void NodeTable::Disown(const std::string& identity) {
  const std::lock_guard lock(mutex_);
  by_identity_.erase(identity);
}

std::vector<std::string> NodeTable::Move(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, slot] : nodes_) {
    const auto path = slot.node->directory() != nullptr ? slot.node->SourcePath() : std::nullopt;
    if (path && IsAtOrBelow(*path, to)) by_identity_.erase(slot.identity);
  }
  std::vector<std::string> moved;
  for (auto& [id, slot] : nodes_) {
    const auto before = slot.node->SourcePath();
    if (!before || !IsAtOrBelow(*before, from)) continue;
    const std::string after = to + before->substr(from.size());
    NodePtr node = slot.node->MovedTo(after);
    if (!node) continue;
    // Requests that are under way continue with the old node.
    const bool named = IsNamed(id, slot);
    if (named) by_identity_.erase(slot.identity);
    slot.node = std::move(node);
    slot.identity = DirectoryIdentity(after);
    if (!named) continue;  // was removed before
    by_identity_[slot.identity] = id;
    moved.push_back(after);
  }
  return moved;
}

std::vector<std::string> NodeTable::SourcePaths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [id, slot] : nodes_) {
    if (auto path = slot.node->SourcePath()) paths.push_back(*std::move(path));
  }
  return paths;
}

std::size_t NodeTable::size() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

}  // namespace unshard
