// Snapshots of the names of source directories from the beginning of their listing, so that a
// listing that is read in pieces neither skips nor repeats names while files come and go.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "store/object/object_store.h"

namespace unshard {

// Thread-safe; no lock is held across I/O.
class DirectorySnapshots {
 public:
  struct Name {
    std::string name;
    bool directory = false;
  };
  struct Snapshot {
    std::uint64_t number = 0;  // 1 or more and below kNumbers; part of the listing's cookies
    std::vector<Name> names;
  };
  using SnapshotPtr = std::shared_ptr<const Snapshot>;
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << 29;

  // The latest kRemembered are remembered, and less where they take more than `most_bytes`; but the
  // latest kLeast in any case, so that the listings that they belong to come to an end.
  explicit DirectorySnapshots(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // The snapshot with this number if it is still remembered; null otherwise.
  SnapshotPtr Get(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
      if ((*entry)->number != number) continue;
      recent_.splice(recent_.begin(), recent_, entry);
      return recent_.front();
    }
    return nullptr;
  }

  SnapshotPtr Put(std::vector<Name> names) {
    const std::uint64_t bytes = BytesOf(names);
    const std::lock_guard lock(mutex_);
    last_number_ = last_number_ % (kNumbers - 1) + 1;
    recent_.push_front(std::make_shared<const Snapshot>(Snapshot{last_number_, std::move(names)}));
    bytes_ += bytes;
    while (recent_.size() > kRemembered || (bytes_ > most_bytes_ && recent_.size() > kLeast)) {
      bytes_ -= BytesOf(recent_.back()->names);
      recent_.pop_back();
    }
    return recent_.front();
  }

 private:
  static constexpr std::size_t kRemembered = 64;
  static constexpr std::size_t kLeast = 4;

  static std::uint64_t BytesOf(const std::vector<Name>& names) {
    std::uint64_t bytes = names.size() * sizeof(Name);
    for (const Name& name : names) bytes += name.name.size();
    return bytes;
  }

  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::list<SnapshotPtr> recent_;  // guarded by mutex_, latest first
  std::uint64_t bytes_ = 0;        // guarded by mutex_; of all of them
  std::uint64_t last_number_ = 0;  // guarded by mutex_
};

}  // namespace unshard
