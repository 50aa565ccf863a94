// What the store directories above the shards of a tree hold: sorted numbers of shards, or of
// directories of the shard grid.
#pragma once

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
// used only by a listing that goes on. Thread-safe; no lock is held across I/O.
class ShardLister {
 public:
  using Numbers = std::shared_ptr<const std::vector<std::uint64_t>>;
  // The shard that an entry's name is of; nothing for entries that are no shard.
  using NameParser = std::function<std::optional<std::uint64_t>(std::string_view)>;

  // True: from its return on, each change of an entry directly in a directory of the store causes a
  // call of Forget(). False: there are no events.
  using Watch = std::function<bool(const std::string&)>;

  ShardLister(std::shared_ptr<ObjectStore> store, Watch watch)
      : store_(std::move(store)), watch_(std::move(watch)) {}

  // The numbers in `store_directory`, ascending, each once. `begins`: a new listing, as against one
  // that goes on.
  Result<Numbers> List(const std::string& store_directory, const NameParser& parse, bool begins);
  // When the directory was modified; nothing where there is none.
  Result<std::optional<timespec>> Modified(const std::string& store_directory);
  // To be called for each change below the tree's directory.
  void Forget();

 private:
  static constexpr std::size_t kRemembered = 64;

  struct Known {
    std::string directory;
    Numbers numbers;
    bool numbers_are_watched = false;
    std::optional<timespec> modified;  // of a watched directory
  };
  Known* Find(const std::string& store_directory);
  void Remember(std::uint64_t epoch, const std::string& store_directory,
                const std::function<void(Known&)>& change);

  const std::shared_ptr<ObjectStore> store_;
  const Watch watch_;
  std::mutex mutex_;
  std::list<Known> recent_;  // guarded by mutex_, latest first
  std::uint64_t epoch_ = 0;  // guarded by mutex_; counts Forget()
};

}  // namespace unshard
