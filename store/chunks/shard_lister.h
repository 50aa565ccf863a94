// What the store directories above the shards of a tree hold: sorted numbers of shards, or of
// directories of the shard grid.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/object/object_store.h"

namespace unshard {

// Remembers the last few directories: one is listed in many small pieces, and many directories of a
// nested tree correspond to one directory of the store. Remembers nothing of chunks. What is
// remembered of a watched directory is valid until Forget(); the numbers of an unwatched one are
// used as far as the caller allows. Thread-safe; no lock is held across I/O.
class ShardLister {
 public:
  using Numbers = std::shared_ptr<const std::vector<std::uint64_t>>;
  using Time = std::chrono::steady_clock::time_point;
  // Of a listing that goes on: numbers of any age will do.
  static constexpr Time kAnyAge = Time::min();
  // The shard that an entry's name is of; nothing for entries that are no shard.
  using NameParser = std::function<std::optional<std::uint64_t>(std::string_view)>;

  // True: from its return on, each change of an entry directly in a directory of the store causes a
  // call of Forget(). False: there are no events.
  using Watch = std::function<bool(const std::string&)>;

  // `clock`: that of the times below.
  ShardLister(std::shared_ptr<ObjectStore> store, Watch watch, std::function<Time()> clock)
      : store_(std::move(store)), watch_(std::move(watch)), clock_(std::move(clock)) {}

  struct Listing {
    Numbers numbers;  // ascending, each once
    Time read;        // when the store was asked, or later where the directory is watched
  };
  // The numbers in `store_directory`, not read before `since`.
  Result<Listing> List(const std::string& store_directory, const NameParser& parse, Time since);
  // When the directory was modified; nothing where there is none.
  Result<std::optional<timespec>> Modified(const std::string& store_directory);
  // To be called for each change below the tree's directory.
  void Forget();

 private:
  static constexpr std::size_t kRemembered = 128;

  struct Known {
    std::string directory;
    Numbers numbers;
    Time read;
    bool numbers_are_watched = false;
    std::optional<timespec> modified;  // of a watched directory
  };
  Known* Find(const std::string& store_directory);
  void Remember(std::uint64_t epoch, const std::string& store_directory,
                const std::function<void(Known&)>& change);

  const std::shared_ptr<ObjectStore> store_;
  const Watch watch_;
  const std::function<Time()> clock_;
  std::mutex mutex_;
  std::list<Known> recent_;  // guarded by mutex_, latest first
  std::uint64_t epoch_ = 0;  // guarded by mutex_; counts Forget()
};

}  // namespace unshard
