#include "store/chunks/read_ahead.h"

#include <algorithm>

namespace unshard {
namespace {

constexpr std::uint64_t kFirstWindow = std::uint64_t{256} << 10;
constexpr std::uint64_t kLargestWindow = std::uint64_t{2} << 20;
// Threads that sweep together are apart by a few chunks.
constexpr std::uint64_t kClose = std::uint64_t{512} << 10;
constexpr std::uint64_t kCloseChunks = 4;
// So many reads in a row that are close to each other make a sweep.
constexpr int kOrderedReads = 3;

bool IsClose(std::uint64_t end, const ByteRange& range) {
  const std::uint64_t apart = range.begin < end ? end - range.begin : range.begin - end;
  return apart <= std::max(kClose, range.size * kCloseChunks);
}

}  // namespace

ReadAhead::Sweep& ReadAhead::Find(const Shard& shard) {
  Sweep* oldest = sweeps_.data();
  for (Sweep& sweep : sweeps_) {
    if (sweep.used != 0 && sweep.shard == shard) {
      sweep.used = ++clock_;
      return sweep;
    }
    if (sweep.used < oldest->used) oldest = &sweep;
  }
  *oldest = Sweep{};
  oldest->shard = shard;
  oldest->used = ++clock_;
  return *oldest;
}

ByteRange ReadAhead::Note(const Shard& shard, const ByteRange& range, std::uint64_t shard_bytes) {
  const std::lock_guard lock(mutex_);
  Sweep& sweep = Find(shard);
  if (sweep.reads == 0 || !IsClose(sweep.end, range)) {
    sweep.end = sweep.asked = range.end();
    sweep.window = kFirstWindow;
    sweep.reads = 1;
    return {};
  }
  sweep.end = std::max(sweep.end, range.end());
  sweep.asked = std::max(sweep.asked, sweep.end);
  sweep.reads = std::min(sweep.reads + 1, kOrderedReads);
  if (sweep.reads < kOrderedReads || sweep.asked - sweep.end > sweep.window / 2) return {};
  // The sweep has read most of what was prefetched: the window grows.
  if (sweep.asked > sweep.end) sweep.window = std::min(sweep.window * 2, kLargestWindow);
  const std::uint64_t begin = std::min(sweep.asked, shard_bytes);
  const std::uint64_t end = std::min(sweep.end + sweep.window, shard_bytes);
  if (end <= begin) return {};
  sweep.asked = end;
  return {begin, end - begin};
}

}  // namespace unshard
