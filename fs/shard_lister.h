// Sorted numbers of the shards, or shard-grid directories, that a store directory holds.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/kv_store.h"

namespace unshard {

// Remembers the last few listings, because a directory is read in many small pieces. What is
// remembered are shards, never chunks. Thread-safe; no lock is held across I/O.
class ShardLister {
 public:
  using Numbers = std::shared_ptr<const std::vector<std::uint64_t>>;
  // The number that an entry's name stands for; nothing for entries that are no shard.
  using NameParser = std::function<std::optional<std::uint64_t>(std::string_view)>;

  explicit ShardLister(std::shared_ptr<KvStore> store) : store_(std::move(store)) {}

  // The numbers in `store_directory`, ascending, each once. `fresh` reads the directory anew.
  Result<Numbers> List(const std::string& store_directory, const NameParser& parse, bool fresh);
  void Forget();

 private:
  static constexpr std::size_t kRemembered = 64;

  const std::shared_ptr<KvStore> store_;
  std::mutex mutex_;
  std::list<std::pair<std::string, Numbers>> recent_;  // guarded by mutex_, latest first
};

}  // namespace unshard
