// Whether listings should carry the attributes of chunks.
#pragma once

#include <atomic>
#include <cstdint>

namespace unshard {

// READDIRPLUS with attributes saves one LOOKUP per chunk where the reader goes on to stat the
// chunks (ls -l, cp -r), and costs the kernel an inode per chunk where it does not (find, ls -f).
// Look-ups show that a reader stats, but attributes make them unnecessary. So after some listings
// without a look-up, each listing omits the attributes of one chunk; if no such chunk is looked up
// either, listings omit them all, until a chunk is looked up.
// As long as none was ever looked up, the answer to a request that begins a listing ends after the
// first few chunks: for the others the kernel sends READDIRPLUS again where the reader stats these,
// and READDIR where it does not.
// Thread-safe.
class AttributeDemand {
 public:
  enum class Give { kAll, kFew, kAllButOne, kNone };
  static constexpr int kFewChunks = 32;

  // What the answer to a request should carry.
  Give ListingBegins() {
    const std::uint32_t listings = listings_.load(std::memory_order_relaxed);
    if (listings >= kAnswered + kProbes) return Give::kNone;
    listings_.store(listings + 1, std::memory_order_relaxed);
    if (listings >= kAnswered) return Give::kAllButOne;
    return looked_up_.load(std::memory_order_relaxed) ? Give::kAll : Give::kFew;
  }
  void ChunkLookedUp() {
    if (!looked_up_.load(std::memory_order_relaxed)) {
      looked_up_.store(true, std::memory_order_relaxed);
    }
    if (listings_.load(std::memory_order_relaxed) != 0) {
      listings_.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::uint32_t kAnswered = 8;
  static constexpr std::uint32_t kProbes = 8;

  std::atomic<std::uint32_t> listings_{0};  // since the last look-up of a chunk
  std::atomic<bool> looked_up_{false};
};

}  // namespace unshard
