// Modification times that programs have set on chunks whose latest version is in their shard.
#pragma once

#include <cstdint>
#include <ctime>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace unshard {

// A time is valid for one generation: until another process replaces the shard. The latest kMost
// are kept until the unmount. Thread-safe.
class GivenTimes {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  // Of the chunk at `path` in the generation with this number.
  void Set(const std::string& path, std::uint32_t generation, const timespec& modified) {
    const std::lock_guard lock(mutex_);
    const auto found = by_path_.find(path);
    if (found != by_path_.end()) {
      times_.splice(times_.end(), times_, found->second);
      found->second->modified = modified;
      found->second->generation = generation;
      return;
    }
    times_.push_back({path, modified, generation});
    by_path_.emplace(times_.back().path, std::prev(times_.end()));
    if (times_.size() <= kMost) return;
    by_path_.erase(times_.front().path);
    times_.pop_front();
  }
  // Nothing where no time was set in this generation, or it is forgotten.
  [[nodiscard]] std::optional<timespec> Find(const std::string& path,
                                             std::uint32_t generation) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_path_.find(path);
    if (found == by_path_.end() || found->second->generation != generation) return std::nullopt;
    return found->second->modified;
  }
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return times_.empty();
  }

 private:
  struct Given {
    std::string path;
    timespec modified{};
    std::uint32_t generation = 0;
  };
  mutable std::mutex mutex_;
  std::list<Given> times_;  // guarded by mutex_; the time that was set last is at the end
  std::unordered_map<std::string_view, std::list<Given>::iterator> by_path_;  // likewise
};

}  // namespace unshard
