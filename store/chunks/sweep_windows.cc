#include "store/chunks/sweep_windows.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace unshard {
namespace {

// Of reads in no order few are beside one of the last reads: each of these adds to a score, all
// others take from it. Below 0 it does not fall, and above kMost it does not grow.
constexpr int kGain = 2;
// The chunk that follows the last one both in storage and in the listing: of reads in no order this
// is one of all chunks of the shard, which has many.
constexpr int kGainOfNext = 3;
constexpr std::uint64_t kManyChunks = 512;
constexpr int kBesideEnough = 6;
constexpr int kBesideMost = 8;
// The same for reads that are a few chunks apart, as sorted names of a Morton order are: more of
// them are needed, since more reads in no order are so close.
constexpr std::uint64_t kFewChunks = 4;
constexpr int kCloseEnough = 12;
constexpr std::uint64_t kAlwaysClose = 4096;
// A shard has to be this much larger than the reads to which a read is compared.
constexpr std::uint64_t kChunksForEachRecent = 64;
constexpr int kBackwardsEnough = 3;
constexpr std::uint64_t kPartOfGaps = 24;  // of a window, at most one part is gaps
// So many reads in a row of what was read before are another sweep.
constexpr int kAgainEnough = 8;
constexpr std::uint64_t kChunksOfFirst = 4;
// In storage order windows grow to this size, or to so many chunks. At the end of a shard they are
// half of what is left, down to this.
constexpr std::uint64_t kUsual = std::uint64_t{8} << 20;
constexpr std::uint64_t kChunksOfUsual = 192;
constexpr std::uint64_t kLeastAtEnd = std::uint64_t{1} << 20;
// A window is requested once it can have all the bytes that may be requested ahead, less such a
// part: so windows double.
constexpr std::uint64_t kParts = 3;
// This part once the first read of a next shard was where it was expected, there and in the shards
// that follow.
constexpr std::uint64_t kPartOnceProven = 8;
// Reads jump where more than such a part of what waits for them is in other windows.
constexpr std::uint64_t kPartElsewhere = 4;
// The first window in the next shard: threads may still read a few chunks of the last one.
constexpr std::uint64_t kPartUnread = 64;

std::uint64_t Apart(const ByteRange& a, const ByteRange& b) {
  if (a.begin >= b.end()) return a.begin - b.end();
  return b.begin >= a.end() ? b.begin - a.end() : 0;
}

int Count(int score, bool gains, int most, int gain = kGain) {
  return gains ? std::min(score + gain, most) : std::max(score - 1, 0);
}

std::int64_t Step(const ByteRange& from, const ByteRange& to) {
  return static_cast<std::int64_t>(to.begin) - static_cast<std::int64_t>(from.begin);
}

}  // namespace

SweepWindows::Sweep& SweepWindows::Find(const ReadAhead::Shard& shard) {
  const auto found = std::find_if(sweeps_.begin(), sweeps_.end(),
                                  [&](const Sweep& sweep) { return sweep.shard == shard; });
  if (found != sweeps_.end()) {
    sweeps_.splice(sweeps_.begin(), sweeps_, found);
  } else {
    if (sweeps_.size() >= kSweeps) sweeps_.pop_back();
    Sweep& sweep = sweeps_.emplace_front();
    sweep.shard = shard;
    if (sweeps_.size() > 1) Continue(sweep, *std::next(sweeps_.begin()));
  }
  return sweeps_.front();
}

// `sweep`: of a shard that is read for the first time. `last`: of the shard that was read before.
void SweepWindows::Continue(Sweep& sweep, const Sweep& last) {
  if (!last.sweeps || last.shard.tree != sweep.shard.tree) return;
  sweep.follows = last.goes_on && sweep.shard.shard == last.shard.shard + 1;
  sweep.before = last.before + last.swept;
  const std::uint64_t first = std::min(sweep.before / kPartOfSwept, kUsual);
  if (first <= kFirst || Outstanding(last) > Requested(last) / kPartUnread) return;
  sweep.sweeps = true;
  sweep.beside = kBesideMost;
  sweep.window = first;
  sweep.farthest = last.farthest;
}

// Whether a read is right beside a recent one in storage or in the listing, or as far from the last
// read as that one was from the one before.
bool SweepWindows::IsBeside(const Sweep& sweep, const Read& read) {
  if (sweep.recent.empty()) return false;
  const std::int64_t step = Step(sweep.recent.back().range, read.range);
  if (step != 0 && sweep.step != 0 &&
      static_cast<std::uint64_t>(std::abs(step - sweep.step)) <= read.range.size) {
    return true;
  }
  return std::any_of(sweep.recent.begin(), sweep.recent.end(), [&](const Read& recent) {
    const std::uint64_t listed =
        std::max(recent.listed, read.listed) - std::min(recent.listed, read.listed);
    return listed == 1 ||
           Apart(recent.range, read.range) <= std::max(read.range.size, kAlwaysClose);
  });
}

bool SweepWindows::IsNext(const Sweep& sweep, const Read& read) {
  if (sweep.recent.empty() || read.shard_bytes / kManyChunks < read.range.size) return false;
  const Read& last = sweep.recent.back();
  return read.listed == last.listed + 1 && read.range.begin >= last.range.end() &&
         read.range.begin - last.range.end() <= kAlwaysClose;
}

// Adds a read to the scores. Whether it is beside or close to recent ones.
bool SweepWindows::Judge(Sweep& sweep, const Read& read) {
  const bool beside = IsBeside(sweep, read);
  const bool close = std::any_of(sweep.recent.begin(), sweep.recent.end(), [&](const Read& recent) {
    return Apart(recent.range, read.range) <= read.range.size * kFewChunks;
  });
  // What is in a window says nothing against a sweep.
  const bool requested = RequestedUntil(sweep, read.range.begin) >= read.range.end();
  const int gain = IsNext(sweep, read) ? kGainOfNext : kGain;
  if (beside || !requested) sweep.beside = Count(sweep.beside, beside, kBesideMost, gain);
  if (close || !requested) sweep.close = Count(sweep.close, close, kCloseEnough + kGain);
  if (!sweep.recent.empty()) {
    sweep.step = Step(sweep.recent.back().range, read.range);
    const auto [first, last] = std::minmax_element(
        sweep.recent.begin(), sweep.recent.end(),
        [](const Read& a, const Read& b) { return a.range.begin < b.range.begin; });
    if (read.range.begin > last->range.begin) sweep.backwards = 0;
    if (read.range.begin < first->range.begin) {
      sweep.backwards = std::min(sweep.backwards + 1, kBackwardsEnough);
    }
  }
  return beside || close;
}

SweepWindows::Place SweepWindows::Note(const Read& read) {
  const std::lock_guard lock(mutex_);
  Sweep& sweep = Find(read.shard);
  const bool begins = sweep.sweeps && sweep.recent.empty();  // continues that of another shard
  const bool follows = Judge(sweep, read) || begins;
  if (!sweep.sweeps && (sweep.beside >= kBesideEnough || sweep.close >= kCloseEnough)) {
    sweep.sweeps = true;
    sweep.window = kFirst;
    for (const Read& recent : sweep.recent) sweep.swept += recent.range.size;
  }
  if (sweep.beside == 0 && sweep.close < kCloseEnough / 2) sweep.sweeps = false;
  if (!sweep.sweeps) {
    // Those of a sweep that has not been detected yet.
    if (sweep.beside == 0 && sweep.close == 0 && sweep.windows.empty()) sweep.requested.clear();
    AddRequested(sweep, read.range);
  }
  const std::uint64_t chunks = read.shard_bytes / std::max<std::uint64_t>(read.range.size, 1);
  const std::size_t compared = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(chunks / kChunksForEachRecent, 1, kRecent));
  sweep.recent.push_back(read);
  if (sweep.recent.size() > compared) {
    sweep.recent.erase(sweep.recent.begin(),
                       sweep.recent.end() - static_cast<std::ptrdiff_t>(compared));
  }
  if (!sweep.sweeps) return Place::kAlone;
  return follows ? Place::kSweeps : Place::kJumps;
}

SweepWindows::Ends SweepWindows::Begin(const Read& read, Place place, const Layout& layout,
                                       const std::function<void(const ByteRange&)>& request) {
  const std::lock_guard lock(mutex_);
  Sweep& sweep = Find(read.shard);
  if (!sweep.sweeps) return Ends::kNo;
  sweep.window =
      std::max(sweep.window, std::min(read.range.size * kChunksOfFirst, sweep.farthest / 2));
  MakeRoom(sweep);
  NoteAgain(sweep, read.range);
  sweep.swept += read.range.size;
  const std::uint64_t requested = RequestedUntil(sweep, read.range.begin);
  if (requested < read.range.end()) {
    if (place == Place::kJumps) {
      sweep.window = std::max(sweep.window / 2, kFirst);
    } else if (const auto window =
                   BeginWindow(sweep, read.range, sweep.window, layout, read.shard_bytes)) {
      request(*window);
    }
    AddRequested(sweep, read.range);
  }
  bool ends = false;
  for (auto at = sweep.windows.begin(); at != sweep.windows.end();) {
    const std::uint64_t begin = std::max(at->first, read.range.begin);
    const std::uint64_t end = std::min(at->second.end, read.range.end());
    if (at->first >= read.range.end()) break;
    if (begin < end) {
      at->second.read += end - begin;
      ends = Follow(sweep, at->first, read, layout, request);
      if (at->second.read >= at->second.end - at->first - at->second.gaps) {
        at = sweep.windows.erase(at);
        continue;
      }
    }
    ++at;
  }
  const bool goes_on = ends && !sweep.goes_on && sweep.backwards < kBackwardsEnough &&
                       sweep.swept >= read.shard_bytes / 2;
  sweep.goes_on |= goes_on;
  if (!goes_on) return Ends::kNo;
  return sweep.expected || sweep.follows ? Ends::kAgain : Ends::kOnce;
}

void SweepWindows::GoOn(const ReadAhead::Shard& last, const Read& first, const Layout& layout,
                        const std::function<void(const ByteRange&)>& request) {
  const std::lock_guard lock(mutex_);
  const auto is = [](const ReadAhead::Shard& shard) {
    return [&shard](const Sweep& sweep) { return sweep.shard == shard; };
  };
  if (std::any_of(sweeps_.begin(), sweeps_.end(), is(first.shard))) return;
  const auto ending = std::find_if(sweeps_.begin(), sweeps_.end(), is(last));
  if (ending == sweeps_.end() || sweeps_.size() >= kSweeps) return;
  // Behind the sweep that the reads are in.
  Sweep& sweep = *sweeps_.emplace(std::next(ending));
  sweep.shard = first.shard;
  sweep.before = ending->before + Requested(*ending);
  sweep.sweeps = sweep.expected = true;
  sweep.beside = kBesideMost;
  sweep.farthest = ending->farthest;
  const std::uint64_t part = ending->expected ? kPartOnceProven : SweepWindows::kPartOfSwept;
  sweep.window = std::min({sweep.before / part, kUsual, sweep.farthest / 2});
  const auto window = BeginWindow(sweep, first.range, sweep.window, layout, first.shard_bytes);
  if (window) request(*window);
}

// After a sweep of the whole shard the next one finds everything requested, and read: forgets that.
void SweepWindows::NoteAgain(Sweep& sweep, const ByteRange& range) {
  const auto after = sweep.windows.upper_bound(range.begin);
  const bool in_window =
      after != sweep.windows.begin() && range.begin < std::prev(after)->second.end;
  const bool requested = RequestedUntil(sweep, range.begin) >= range.end();
  sweep.again = Count(sweep.again, requested && !in_window, kAgainEnough);
  if (sweep.again < kAgainEnough) return;
  sweep.again = 0;
  sweep.swept = 0;
  sweep.goes_on = false;
  sweep.requested.clear();
  for (const auto& [begin, window] : sweep.windows) {
    AddRequested(sweep, {begin, window.end - begin});
  }
}

SweepWindows::Chain SweepWindows::ChainFrom(const Sweep& sweep, std::uint64_t begin) {
  Chain chain{begin, 0};
  for (auto at = sweep.windows.find(begin); at != sweep.windows.end();) {
    const Window& window = at->second;
    const std::uint64_t bytes = window.end - at->first - window.gaps;
    chain.last = at->first;
    chain.unread += bytes - std::min(window.read, bytes);
    if (!window.next) break;
    at = sweep.windows.find(*window.next);
  }
  return chain;
}

// The largest window in storage order.
std::uint64_t SweepWindows::Largest(const Sweep& sweep, std::uint64_t chunk_bytes) const {
  const std::uint64_t usual = std::max(kUsual, chunk_bytes * kChunksOfUsual);
  return std::max(std::min({usual, kLargest, sweep.farthest / 2, budget_ / 4}), kFirst);
}

// The size of the next window in storage order; 0: it is not to be requested yet. `unread`: bytes
// that are requested ahead of the reads. `left`: bytes of the shard that are not requested.
std::uint64_t SweepWindows::Wanted(const Sweep& sweep, std::uint64_t unread,
                                   std::uint64_t chunk_bytes, std::uint64_t left) const {
  const std::uint64_t others = OutstandingOfAll() - unread;
  const std::uint64_t part = sweep.expected ? kPartOnceProven : kPartOfSwept;
  const std::uint64_t proven = sweep.before / part + kAhead * sweep.swept;
  const std::uint64_t target =
      std::min({proven, sweep.farthest, budget_ / 2 - std::min(budget_ / 2, others)});
  const std::uint64_t missing = target - std::min(target, unread);
  const std::uint64_t most =
      std::min(Largest(sweep, chunk_bytes), left < 2 * kLeastAtEnd ? left : left / 2);
  const std::uint64_t enough = std::min(most, std::max(target / kParts * (kParts - 1), kFirst));
  return missing < enough ? 0 : std::min(missing, most);
}

// Begins the windows behind the window that begins at `begin`. True if the shard has no more bytes
// to request there.
bool SweepWindows::Follow(Sweep& sweep, std::uint64_t begin, const Read& read, const Layout& layout,
                          const std::function<void(const ByteRange&)>& request) {
  Chain chain = ChainFrom(sweep, begin);
  const std::uint64_t elsewhere = Outstanding(sweep) - std::min(Outstanding(sweep), chain.unread);
  if (elsewhere > chain.unread / kPartElsewhere) {
    const Window& window = sweep.windows.at(begin);
    if (window.followed || window.read < (window.end - begin) / 2) return false;
    BeginNext(sweep, begin, sweep.window, read, layout, request);
    return false;
  }
  for (;;) {
    const std::uint64_t left = Left(sweep, chain.last, layout, read.shard_bytes);
    if (left == 0) return true;
    if (sweep.windows.at(chain.last).followed) return false;
    const std::uint64_t limit = Wanted(sweep, chain.unread, read.range.size, left);
    if (limit == 0 || !BeginNext(sweep, chain.last, limit, read, layout, request)) return false;
    chain = ChainFrom(sweep, begin);
  }
}

// Bytes of the shard behind a window that begins at `begin`; before it, where reads go backwards.
std::uint64_t SweepWindows::Left(const Sweep& sweep, std::uint64_t begin, const Layout& layout,
                                 std::uint64_t shard_bytes) {
  if (layout.chunks.empty()) return 0;
  if (sweep.backwards >= kBackwardsEnough) {
    return begin - std::min(begin, layout.chunks.front().begin);
  }
  const std::uint64_t end = layout.goes_on ? shard_bytes : layout.chunks.back().end();
  return end - std::min(end, sweep.windows.at(begin).end);
}

// Begins the next window behind the window that begins at `begin`. False if there is none to begin.
bool SweepWindows::BeginNext(Sweep& sweep, std::uint64_t begin, std::uint64_t limit,
                             const Read& read, const Layout& layout,
                             const std::function<void(const ByteRange&)>& request) {
  Window& window = sweep.windows.at(begin);
  window.followed = true;
  const auto next = NextWindow(sweep, begin, limit, read, layout);
  if (!next) return false;
  window.next = next->begin;
  request(*next);
  return true;
}

std::optional<ByteRange> SweepWindows::NextWindow(Sweep& sweep, std::uint64_t begin,
                                                  std::uint64_t limit, const Read& read,
                                                  const Layout& layout) {
  if (sweep.backwards >= kBackwardsEnough) {
    const auto before =
        std::lower_bound(layout.chunks.begin(), layout.chunks.end(), begin,
                         [](const ByteRange& chunk, std::uint64_t at) { return chunk.begin < at; });
    if (before == layout.chunks.begin()) return std::nullopt;
    const ByteRange chunk = *std::prev(before);
    if (chunk.end() + kLargestGap < begin) return std::nullopt;
    if (RequestedUntil(sweep, chunk.begin) > chunk.begin) return std::nullopt;
    return BeginWindow(sweep, chunk, std::max(limit, chunk.size), layout, read.shard_bytes);
  }
  const std::uint64_t end = sweep.windows.at(begin).end;
  const auto after =
      std::upper_bound(layout.chunks.begin(), layout.chunks.end(), end,
                       [](std::uint64_t at, const ByteRange& chunk) { return at < chunk.end(); });
  ByteRange chunk{end, 1};
  if (after != layout.chunks.end()) {
    chunk = *after;
  } else if (!layout.goes_on || end >= read.shard_bytes) {
    return std::nullopt;
  }
  if (chunk.begin > end + kLargestGap) return std::nullopt;
  if (RequestedUntil(sweep, chunk.begin) >= chunk.end()) return std::nullopt;
  return BeginWindow(sweep, chunk, std::max(limit, chunk.size), layout, read.shard_bytes);
}

// A window that has the bytes of `first` that were not requested yet. Nothing where they are left
// to a read of their own.
std::optional<ByteRange> SweepWindows::BeginWindow(Sweep& sweep, const ByteRange& first,
                                                   std::uint64_t limit, const Layout& layout,
                                                   std::uint64_t shard_bytes) {
  const std::uint64_t taken = OutstandingOfAll();
  limit = std::min(limit, budget_ - std::min(budget_, taken));
  if (limit < first.size) return std::nullopt;
  const Extent extent = sweep.backwards >= kBackwardsEnough
                            ? Backwards(sweep, first.end(), limit, layout)
                            : Around(sweep, first, limit, layout, shard_bytes);
  const ByteRange range{extent.begin, extent.end - extent.begin};
  if (range.size == 0) return std::nullopt;
  AddRequested(sweep, range);
  sweep.windows[range.begin] = {extent.end, extent.gaps, 0, false, {}};
  const std::uint64_t now = taken + range.size;
  if (shard_bytes <= budget_ + budget_ / 4 || taken <= sweep.window / 2 ||
      now + sweep.window <= budget_ / 16) {
    sweep.window = std::min({sweep.window * 2, kLargest, sweep.farthest / 2, budget_ / 4});
  }
  return range;
}

// Reads that jump between windows come to the chunks before `first` as well: windows begin at a
// multiple of their size, so that those of a Morton order are blocks of the grid, and no small
// rests are left between them. Reads in storage order have requested what is before.
SweepWindows::Extent SweepWindows::Around(const Sweep& sweep, const ByteRange& first,
                                          std::uint64_t limit, const Layout& layout,
                                          std::uint64_t shard_bytes) {
  const std::uint64_t begin = RequestedUntil(sweep, first.begin);
  Extent before{begin, begin, 0};
  if (begin == first.begin && !layout.chunks.empty() && begin > layout.chunks.front().begin) {
    const std::uint64_t beyond = (begin - layout.chunks.front().begin) % limit;
    if (beyond + first.size <= limit) before = Backwards(sweep, begin, beyond, layout);
  }
  const Extent after = Forwards(sweep, begin, limit - (begin - before.begin), layout, shard_bytes);
  if (after.end == begin) return after;
  return {before.begin, after.end, before.gaps + after.gaps};
}

SweepWindows::Extent SweepWindows::Forwards(const Sweep& sweep, std::uint64_t begin,
                                            std::uint64_t limit, const Layout& layout,
                                            std::uint64_t shard_bytes) {
  const auto stop = sweep.requested.upper_bound(begin);
  const std::uint64_t most = std::min(
      {stop == sweep.requested.end() ? shard_bytes : stop->first, begin + limit, shard_bytes});
  std::uint64_t end = begin;
  std::uint64_t gaps = 0;
  auto at = std::upper_bound(
      layout.chunks.begin(), layout.chunks.end(), begin,
      [](std::uint64_t from, const ByteRange& chunk) { return from < chunk.end(); });
  for (; at != layout.chunks.end() && at->end() <= most; ++at) {
    const std::uint64_t gap = at->begin - std::min(at->begin, end);
    if (gap > kLargestGap || gaps + gap > (end - begin) / kPartOfGaps) break;
    gaps += gap;
    end = std::max(end, at->end());
  }
  const bool passed_all = at == layout.chunks.end();
  if (passed_all && layout.goes_on && most > end) end = most;
  return {begin, end, gaps};
}

SweepWindows::Extent SweepWindows::Backwards(const Sweep& sweep, std::uint64_t end,
                                             std::uint64_t limit, const Layout& layout) {
  auto stop = sweep.requested.lower_bound(end);
  std::uint64_t least = end - std::min(end, limit);
  if (stop != sweep.requested.begin()) least = std::max(least, std::prev(stop)->second);
  std::uint64_t begin = end;
  std::uint64_t gaps = 0;
  auto at = std::lower_bound(
      layout.chunks.begin(), layout.chunks.end(), end,
      [](const ByteRange& chunk, std::uint64_t from) { return chunk.begin < from; });
  while (at != layout.chunks.begin()) {
    --at;
    const std::uint64_t gap = begin - std::min(begin, at->end());
    if (gap > kLargestGap || gaps + gap > (end - begin) / kPartOfGaps || at->begin < least) break;
    gaps += gap;
    begin = std::min(begin, at->begin);
  }
  return {begin, end, gaps};
}

// The end of the requested bytes that begin at `at` or before; `at` where it is not requested.
std::uint64_t SweepWindows::RequestedUntil(const Sweep& sweep, std::uint64_t at) {
  const auto after = sweep.requested.upper_bound(at);
  if (after == sweep.requested.begin()) return at;
  return std::max(at, std::prev(after)->second);
}

void SweepWindows::AddRequested(Sweep& sweep, const ByteRange& range) {
  if (sweep.requested.size() >= kMostRanges) sweep.requested.clear();
  std::uint64_t begin = range.begin;
  std::uint64_t end = range.end();
  auto at = sweep.requested.upper_bound(begin);
  if (at != sweep.requested.begin() && std::prev(at)->second >= begin) --at;
  while (at != sweep.requested.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = sweep.requested.erase(at);
  }
  sweep.requested.emplace(begin, end);
}

std::uint64_t SweepWindows::Outstanding(const Sweep& sweep) {
  std::uint64_t bytes = 0;
  for (const auto& [begin, window] : sweep.windows) {
    bytes += window.end - begin - std::min(window.read, window.end - begin);
  }
  return bytes;
}

std::uint64_t SweepWindows::Requested(const Sweep& sweep) {
  std::uint64_t bytes = 0;
  for (const auto& [begin, end] : sweep.requested) bytes += end - begin;
  return bytes;
}

std::uint64_t SweepWindows::OutstandingOfAll() const {
  std::uint64_t bytes = 0;
  for (const Sweep& sweep : sweeps_) bytes += Outstanding(sweep);
  return bytes;
}

// Windows of sweeps that have ended are not read any more, and will be evicted: forgets those that
// were used least recently while the budget is taken.
void SweepWindows::MakeRoom(const Sweep& sweep) {
  for (auto at = sweeps_.rbegin(); at != sweeps_.rend() && &*at != &sweep; ++at) {
    if (OutstandingOfAll() + sweep.window <= budget_) return;
    at->windows.clear();
  }
}

void SweepWindows::Slow(const Read& read) {
  const std::lock_guard lock(mutex_);
  Sweep& sweep = Find(read.shard);
  const auto after = sweep.windows.upper_bound(read.range.begin);
  if (after == sweep.windows.begin()) return;
  const auto& [begin, window] = *std::prev(after);
  if (window.end < read.range.end()) return;
  sweep.farthest = std::max(std::min(window.end - begin, sweep.farthest), 2 * kFirst);
  sweep.window = std::min(sweep.window, sweep.farthest / 2);
}

std::uint64_t SweepWindows::outstanding() const {
  const std::lock_guard lock(mutex_);
  return OutstandingOfAll();
}

}  // namespace unshard
