#include "fs/open_versions.h"

namespace unshard {

void OpenVersions::Opened(NodeId node, const Shown& shown) {
  const std::lock_guard lock(mutex_);
  Open& open = open_[node];
  open.shown = shown;
  ++open.files;
}

void OpenVersions::Closed(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(node);
  if (found != open_.end() && --found->second.files == 0) open_.erase(found);
}

std::optional<OpenVersions::Shown> OpenVersions::Find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(node);
  if (found == open_.end()) return std::nullopt;
  return found->second.shown;
}

}  // namespace unshard
