#include "store/chunks/sweep_windows.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace unshard {
namespace {

// Of reads in no order few are beside one of the last reads: each of these adds to a score, all
// others take from it. Below 0 it does not fall, and above kMost it does not grow.
constexpr int kGain = 2;
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
// Windows of this size have so many windows under way behind them once such a part of them is read.
constexpr std::uint64_t kPartBegun = 16;
constexpr std::uint64_t kOneAhead = std::uint64_t{1} << 20;
constexpr std::uint64_t kTwoAhead = std::uint64_t{4} << 20;
// The first window in the next shard is at most this part of what was swept in the last one, where
// threads may still read a few chunks.
constexpr std::uint64_t kPartOfSwept = 16;
constexpr std::uint64_t kPartUnread = 64;

std::uint64_t Apart(const ByteRange& a, const ByteRange& b) {
  if (a.begin >= b.end()) return a.begin - b.end();
  return b.begin >= a.end() ? b.begin - a.end() : 0;
}

int Count(int score, bool gains, int most) {
  return gains ? std::min(score + kGain, most) : std::max(score - 1, 0);
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
  const std::uint64_t swept = Requested(last);
  const std::uint64_t first = std::min(last.window, swept / kPartOfSwept);
  if (first <= kFirst || Outstanding(last) > swept / kPartUnread) return;
  sweep.sweeps = true;
  sweep.beside = kBesideMost;
  sweep.window = first;
  sweep.largest = last.largest;
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

// Adds a read to the scores. Whether it is beside or close to recent ones.
bool SweepWindows::Judge(Sweep& sweep, const Read& read) {
  const bool beside = IsBeside(sweep, read);
  const bool close = std::any_of(sweep.recent.begin(), sweep.recent.end(), [&](const Read& recent) {
    return Apart(recent.range, read.range) <= read.range.size * kFewChunks;
  });
  // What is in a window says nothing against a sweep.
  const bool requested = RequestedUntil(sweep, read.range.begin) >= read.range.end();
  if (beside || !requested) sweep.beside = Count(sweep.beside, beside, kBesideMost);
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

void SweepWindows::Begin(const Read& read, Place place, const Layout& layout,
                         const std::function<void(const ByteRange&)>& request) {
  const std::lock_guard lock(mutex_);
  Sweep& sweep = Find(read.shard);
  if (!sweep.sweeps) return;
  sweep.window = std::max(sweep.window, std::min(read.range.size * kChunksOfFirst, sweep.largest));
  MakeRoom(sweep);
  NoteAgain(sweep, read.range);
  const std::uint64_t requested = RequestedUntil(sweep, read.range.begin);
  if (requested < read.range.end()) {
    if (place == Place::kJumps) {
      sweep.window = std::max(sweep.window / 2, kFirst);
    } else if (const auto window = BeginWindow(sweep, read.range, layout, read.shard_bytes)) {
      request(*window);
    }
    AddRequested(sweep, read.range);
  }
  for (auto at = sweep.windows.begin(); at != sweep.windows.end();) {
    const std::uint64_t begin = std::max(at->first, read.range.begin);
    const std::uint64_t end = std::min(at->second.end, read.range.end());
    if (at->first >= read.range.end()) break;
    if (begin < end) {
      at->second.read += end - begin;
      Follow(sweep, at->first, read, layout, request);
      if (at->second.read >= at->second.end - at->first - at->second.gaps) {
        at = sweep.windows.erase(at);
        continue;
      }
    }
    ++at;
  }
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
  sweep.requested.clear();
  for (const auto& [begin, window] : sweep.windows) {
    AddRequested(sweep, {begin, window.end - begin});
  }
}

// How many windows behind this one are to be under way now.
int SweepWindows::Ahead(const Sweep& sweep, const Window& window, std::uint64_t begin) const {
  const std::uint64_t size = window.end - begin;
  const int least = window.read >= size / 2 ? 1 : 0;
  // Other sweeps, and those that jump, need room for windows of their own.
  if (window.read < size / kPartBegun || OutstandingOfAll() + sweep.window > budget_ / 2) {
    return least;
  }
  if (size >= kTwoAhead) return 2;
  return size >= kOneAhead ? 1 : least;
}

void SweepWindows::Follow(Sweep& sweep, std::uint64_t begin, const Read& read, const Layout& layout,
                          const std::function<void(const ByteRange&)>& request) {
  for (int ahead = Ahead(sweep, sweep.windows.at(begin), begin); ahead > 0; --ahead) {
    const auto at = sweep.windows.find(begin);
    if (at == sweep.windows.end()) return;
    Window& window = at->second;
    if (!window.followed) {
      window.followed = true;
      if (const auto next = BeginNext(sweep, begin, window, read, layout)) {
        window.next = next->begin;
        request(*next);
      }
    }
    if (!window.next) return;
    begin = *window.next;
  }
}

// The window behind `window`, which begins at `begin`. Nothing where there is none to begin.
std::optional<ByteRange> SweepWindows::BeginNext(Sweep& sweep, std::uint64_t begin,
                                                 const Window& window, const Read& read,
                                                 const Layout& layout) {
  if (sweep.backwards >= kBackwardsEnough) {
    const auto before =
        std::lower_bound(layout.chunks.begin(), layout.chunks.end(), begin,
                         [](const ByteRange& chunk, std::uint64_t at) { return chunk.begin < at; });
    if (before == layout.chunks.begin()) return std::nullopt;
    const ByteRange chunk = *std::prev(before);
    if (chunk.end() + kLargestGap < begin) return std::nullopt;
    if (RequestedUntil(sweep, chunk.begin) > chunk.begin) return std::nullopt;
    return BeginWindow(sweep, chunk, layout, read.shard_bytes);
  }
  const auto after =
      std::upper_bound(layout.chunks.begin(), layout.chunks.end(), window.end,
                       [](std::uint64_t at, const ByteRange& chunk) { return at < chunk.end(); });
  ByteRange chunk{window.end, 1};
  if (after != layout.chunks.end()) {
    chunk = *after;
  } else if (!layout.goes_on || window.end >= read.shard_bytes) {
    return std::nullopt;
  }
  if (chunk.begin > window.end + kLargestGap) return std::nullopt;
  if (RequestedUntil(sweep, chunk.begin) >= chunk.end()) return std::nullopt;
  return BeginWindow(sweep, chunk, layout, read.shard_bytes);
}

// A window that has the bytes of `first` that were not requested yet. Nothing where they are left
// to a read of their own.
std::optional<ByteRange> SweepWindows::BeginWindow(Sweep& sweep, const ByteRange& first,
                                                   const Layout& layout,
                                                   std::uint64_t shard_bytes) {
  const std::uint64_t taken = OutstandingOfAll();
  const std::uint64_t limit = std::min(sweep.window, budget_ - std::min(budget_, taken));
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
    sweep.window = std::min(sweep.window * 2, std::min(sweep.largest, budget_ / 4));
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
  sweep.largest = std::max(std::min((window.end - begin) / 2, sweep.largest), kFirst);
  sweep.window = std::min(sweep.window, sweep.largest);
}

std::uint64_t SweepWindows::outstanding() const {
  const std::lock_guard lock(mutex_);
  return OutstandingOfAll();
}

}  // namespace unshard
