#include "store/http/whole_objects.h"

#include <utility>

namespace unshard {

std::optional<HttpObject> WholeObjects::Find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->object;
}

void WholeObjects::Put(std::string_view key, HttpObject object) {
  const std::lock_guard lock(mutex_);
  EraseLocked(key);
  if (object.bytes.size() > max_bytes_) return;
  bytes_ += object.bytes.size();
  entries_.push_front({std::string(key), std::move(object)});
  by_key_.emplace(std::string(key), entries_.begin());
  while (bytes_ > max_bytes_) EraseLocked(std::string(entries_.back().key));
}

void WholeObjects::Erase(std::string_view key) {
  const std::lock_guard lock(mutex_);
  EraseLocked(key);
}

void WholeObjects::EraseLocked(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  bytes_ -= found->second->object.bytes.size();
  entries_.erase(found->second);
  by_key_.erase(found);
}

}  // namespace unshard
