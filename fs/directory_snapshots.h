// Names of source directories as they were when their listing began, so that a listing that is read
// in pieces neither skips nor repeats names while files come and go.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codec/error.h"
#include "store/kv_store.h"

namespace unshard {

// Thread-safe; no lock is held across I/O.
class DirectorySnapshots {
 public:
  struct Name {
    std::string name;
    bool directory = false;
  };
  using Names = std::shared_ptr<const std::vector<Name>>;

  // The snapshot of `path` if one is remembered; null otherwise.
  Names Get(const std::string& path) {
    const std::lock_guard lock(mutex_);
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
      if (entry->first != path) continue;
      recent_.splice(recent_.begin(), recent_, entry);
      return recent_.front().second;
    }
    return nullptr;
  }

  void Put(const std::string& path, Names names) {
    const std::lock_guard lock(mutex_);
    recent_.remove_if([&](const auto& entry) { return entry.first == path; });
    recent_.emplace_front(path, std::move(names));
    if (recent_.size() > kRemembered) recent_.pop_back();
  }

 private:
  static constexpr std::size_t kRemembered = 16;
  std::mutex mutex_;
  std::list<std::pair<std::string, Names>> recent_;  // guarded by mutex_, latest first
};

}  // namespace unshard
