// Whether listings should carry the attributes of chunks.
#pragma once

#include <atomic>
#include <cstdint>

namespace unshard {

// Attributes in a listing save one look-up per chunk where the reader goes on to ask for them (ls
// -l, cp -r), and cost the kernel an inode per chunk where it does not (find, ls -f). A reader that
// asks is seen by its look-ups, which attributes take away: after some listings without a look-up,
// one chunk of each goes without; when that is not looked up either, all do, until a chunk is.
// Thread-safe.
class AttributeDemand {
 public:
  enum class Give { kAll, kAllButOne, kNone };

  // What the listing that begins should carry.
  Give ListingBegins() {
    const std::uint32_t listings = listings_.load(std::memory_order_relaxed);
    if (listings >= kAnswered + kProbes) return Give::kNone;
    listings_.store(listings + 1, std::memory_order_relaxed);
    return listings < kAnswered ? Give::kAll : Give::kAllButOne;
  }
  void ChunkLookedUp() {
    if (listings_.load(std::memory_order_relaxed) != 0) {
      listings_.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::uint32_t kAnswered = 8;
  static constexpr std::uint32_t kProbes = 8;

  std::atomic<std::uint32_t> listings_{0};  // since the last look-up of a chunk
};

}  // namespace unshard
