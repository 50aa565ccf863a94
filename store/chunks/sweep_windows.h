// Detects reads that sweep through a shard of a remote store (cp -r, tar, loops of programs), and
// chooses the windows that are requested whole in place of single chunks.
//
// Reads are a sweep where most of them are beside an earlier one: in storage, in the order in which
// chunks are listed, or at an equal distance. Several threads may sweep together. Windows go in
// storage order, whichever order the reads have: sorted names of a shard in Morton order jump
// between several windows at a time.
//
//   1. A chunk of a sweep that is in no window begins one, unless the read jumped.
//   2. While reads come in storage order, windows follow one another at their end (at their begin,
//      where the reads go backwards), so that the wire is never idle: what is requested ahead of
//      the reads is kAhead times what they have read, and stays below the farthest. Each window is
//      large enough to be worth its request, and those at the end of a shard are smaller, since a
//      window can be read only once it is there as a whole.
//   3. If reads jump between several windows, a window that is half read begins the next one behind
//      it. Windows double. If chunks wait long for their reads, windows double only while little of
//      the budget is taken: so each window stays small enough for all windows to be kept until they
//      are read.
//   4. A window ends before bytes that were requested already, before a gap that costs more than a
//      request or makes the gaps more than a small part of the window, and at the last chunk that
//      fits. No byte is requested twice.
//   5. What was requested and is not read yet stays below the budget. Beyond it, each chunk is a
//      read of its own.
//   6. A sweep that has read a shard goes on in the next one of the tree: the first read there
//      begins a window, and does not wait for several round trips again. Once half of a shard is
//      read and all of it is requested, that window may be requested before the next shard is read
//      at all: a small part of what was swept, since the reader may want nothing more. Where it
//      is read, more is requested ahead there. The index of the next shard may be asked for only
//      once the reader has gone on so: before that it costs a request that may be for nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "codec/core/byte_range.h"
#include "store/chunks/read_ahead.h"

namespace unshard {

// Thread-safe.
class SweepWindows {
 public:
  static constexpr std::uint64_t kFirst = std::uint64_t{128} << 10;
  static constexpr std::uint64_t kLargest = std::uint64_t{16} << 20;
  // What is requested ahead of reads in storage order: so many times what they have read, and at
  // most so many bytes.
  static constexpr std::uint64_t kAhead = 3;
  static constexpr std::uint64_t kFarthest = std::uint64_t{32} << 20;
  // What is requested of the next shard before its first read: this part of what was swept, twice
  // as much where the sweep has come from shard to shard before, and at most 8 MiB.
  static constexpr std::uint64_t kPartOfSwept = 16;
  // What a request costs, in bytes that could be transferred instead.
  static constexpr std::uint64_t kLargestGap = std::uint64_t{64} << 10;

  // `budget`: bytes of all windows together that are requested and not read.
  explicit SweepWindows(std::uint64_t budget) : budget_(budget) {}

  // One chunk that is about to be read from the store.
  struct Read {
    ReadAhead::Shard shard;
    ByteRange range;
    std::uint64_t listed = 0;       // its place among the chunks of its index page, as listed
    std::uint64_t shard_bytes = 0;  // size of the shard
  };
  enum class Place {
    kAlone,  // it belongs to no sweep
    kJumps,  // the shard is swept, but this read is not beside recent ones
    kSweeps,
  };
  // Notes a read. Unless it is alone, call Begin() before it is read.
  Place Note(const Read& read);

  // The chunks of an index page, ascending by their begin.
  struct Layout {
    std::vector<ByteRange> chunks;
    bool goes_on = false;  // other chunks of the shard may follow the last of these
  };
  // Calls `request` for the windows to request now, before the chunk is read; most of the time
  // there are none. It is called with the mutex of this object held, so that a reader whose chunk
  // counts as requested finds that request; it must not wait.
  //
  // Whether the shard is about to end, so that GoOn may be called for the next shard. Said once for
  // each sweep of a shard.
  enum class Ends {
    kNo,
    kOnce,
    kAgain,  // and the sweep has come to this shard from the end of the one before
  };
  Ends Begin(const Read& read, Place place, const Layout& layout,
             const std::function<void(const ByteRange&)>& request);
  // Calls `request` for a window in the next shard, which `first` is likely to be read from first.
  // `last`: the shard that ends. Does nothing where the next shard was read already.
  void GoOn(const ReadAhead::Shard& last, const Read& first, const Layout& layout,
            const std::function<void(const ByteRange&)>& request);

  // A read took long: where it waited for a window, the next ones have half of its size at most.
  void Slow(const Read& read);

  // Bytes that were requested in windows and are not read yet.
  [[nodiscard]] std::uint64_t outstanding() const;

 private:
  static constexpr std::size_t kSweeps = 64;
  static constexpr std::size_t kRecent = 8;
  static constexpr std::size_t kMostRanges = 4096;

  struct Window {
    std::uint64_t end = 0;
    std::uint64_t gaps = 0;  // bytes between its chunks
    std::uint64_t read = 0;
    bool followed = false;              // the next one was begun, or cannot be
    std::optional<std::uint64_t> next;  // where that one begins
  };
  // A part of the shard, to be requested whole.
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t gaps = 0;
  };
  struct Sweep {
    ReadAhead::Shard shard;
    std::vector<Read> recent;  // the last reads, at most kRecent
    int beside = 0;            // grows with reads that are right beside recent ones
    int close = 0;             // grows with reads that are a few chunks from recent ones
    int again = 0;             // grows with reads of what was read before
    int backwards = 0;         // grows with reads before all recent ones, until one is behind them
    std::int64_t step = 0;     // from the read before the last one to the last one
    bool sweeps = false;
    bool goes_on = false;   // its end was announced
    bool expected = false;  // begun by GoOn
    bool follows = false;   // begun where the shard before had ended
    std::uint64_t window = kFirst;
    std::uint64_t farthest = kFarthest;                // ahead of reads in storage order
    std::uint64_t before = 0;                          // bytes that were swept in the shards before
    std::uint64_t swept = 0;                           // bytes that were read in this one
    std::map<std::uint64_t, std::uint64_t> requested;  // begin to end; do not touch each other
    std::map<std::uint64_t, Window> windows;           // by their begin; those not read whole
  };
  using Sweeps = std::list<Sweep>;

  Sweep& Find(const ReadAhead::Shard& shard);
  static void Continue(Sweep& sweep, const Sweep& last);
  static bool Judge(Sweep& sweep, const Read& read);
  static bool IsNext(const Sweep& sweep, const Read& read);
  static bool IsBeside(const Sweep& sweep, const Read& read);
  static void NoteAgain(Sweep& sweep, const ByteRange& range);
  static void AddRequested(Sweep& sweep, const ByteRange& range);
  [[nodiscard]] static std::uint64_t RequestedUntil(const Sweep& sweep, std::uint64_t at);
  [[nodiscard]] static std::uint64_t Outstanding(const Sweep& sweep);
  [[nodiscard]] static std::uint64_t Requested(const Sweep& sweep);
  [[nodiscard]] std::uint64_t OutstandingOfAll() const;
  void MakeRoom(const Sweep& sweep);
  [[nodiscard]] static Extent Around(const Sweep& sweep, const ByteRange& first,
                                     std::uint64_t limit, const Layout& layout,
                                     std::uint64_t shard_bytes);
  [[nodiscard]] static Extent Forwards(const Sweep& sweep, std::uint64_t begin, std::uint64_t limit,
                                       const Layout& layout, std::uint64_t shard_bytes);
  [[nodiscard]] static Extent Backwards(const Sweep& sweep, std::uint64_t end, std::uint64_t limit,
                                        const Layout& layout);
  std::optional<ByteRange> BeginWindow(Sweep& sweep, const ByteRange& first, std::uint64_t limit,
                                       const Layout& layout, std::uint64_t shard_bytes);
  // Windows that follow one another.
  struct Chain {
    std::uint64_t last = 0;    // where the last of them begins
    std::uint64_t unread = 0;  // bytes
  };
  [[nodiscard]] static Chain ChainFrom(const Sweep& sweep, std::uint64_t begin);
  [[nodiscard]] std::uint64_t Largest(const Sweep& sweep, std::uint64_t chunk_bytes) const;
  [[nodiscard]] std::uint64_t Wanted(const Sweep& sweep, std::uint64_t unread,
                                     std::uint64_t chunk_bytes, std::uint64_t left) const;
  [[nodiscard]] static std::uint64_t Left(const Sweep& sweep, std::uint64_t begin,
                                          const Layout& layout, std::uint64_t shard_bytes);
  bool Follow(Sweep& sweep, std::uint64_t begin, const Read& read, const Layout& layout,
              const std::function<void(const ByteRange&)>& request);
  bool BeginNext(Sweep& sweep, std::uint64_t begin, std::uint64_t limit, const Read& read,
                 const Layout& layout, const std::function<void(const ByteRange&)>& request);
  std::optional<ByteRange> NextWindow(Sweep& sweep, std::uint64_t begin, std::uint64_t limit,
                                      const Read& read, const Layout& layout);

  const std::uint64_t budget_;
  mutable std::mutex mutex_;
  Sweeps sweeps_;  // guarded by mutex_; most recently used first
};

}  // namespace unshard
