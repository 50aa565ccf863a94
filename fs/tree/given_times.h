// Modification times that programs have set on chunks whose latest version is in their shard.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace unshard {

// A time is valid for one generation: until another process replaces the shard. Kept until the
// unmount, for a bounded number of chunks. Thread-safe.
class GivenTimes {
 public:
  // Of the chunk at `path` in the generation with this number.
  void Set(const std::string& path, std::uint32_t generation, const timespec& modified) {
    const std::lock_guard lock(mutex_);
    if (times_.size() >= kMost) times_.clear();
    times_[path] = {modified, generation};
  }
  [[nodiscard]] std::optional<timespec> Find(const std::string& path,
                                             std::uint32_t generation) const {
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(path);
    if (found == times_.end() || found->second.generation != generation) return std::nullopt;
    return found->second.modified;
  }
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return times_.empty();
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  struct Given {
    timespec modified{};
    std::uint32_t generation = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Given> times_;  // guarded by mutex_
};

}  // namespace unshard
