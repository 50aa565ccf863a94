#include "store/chunks/sweep_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace unshard {
namespace {

constexpr std::uint64_t kSweptBytes = std::uint64_t{32} << 10;
constexpr std::uint64_t kIndex = 4096;
constexpr std::uint64_t kBudget = std::uint64_t{64} << 20;
using Order = std::vector<std::uint64_t>;

struct Cost {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint64_t most_outstanding = 0;
};

// False where the read is alone.
bool Note(SweepWindows& sweeps, const SweepWindows::Read& read, const SweepWindows::Layout& layout,
          const std::function<void(const ByteRange&)>& request) {
  const SweepWindows::Place place = sweeps.Note(read);
  if (place == SweepWindows::Place::kAlone) return false;
  sweeps.Begin(read, place, layout, request);
  return true;
}

// Chunk i of a shard is the i-th in storage; `listed[i]` is its place in the listing.
class Shard {
 public:
  explicit Shard(std::uint64_t chunks, std::uint64_t chunk = kSweptBytes, std::uint64_t gap = 0) {
    for (std::uint64_t i = 0; i < chunks; ++i) {
      layout.chunks.push_back({kIndex + i * (chunk + gap), chunk});
    }
    bytes = layout.chunks.back().end();
    listed.resize(chunks);
    std::iota(listed.begin(), listed.end(), 0);
  }
  // What reading the chunks in this order costs, where the store gives what a window has to the
  // reads within it. No byte is requested twice, and none that lies outside the shard.
  Cost Read(SweepWindows& sweeps, const Order& order) const {
    Cost cost;
    std::vector<ByteRange> requested;
    const auto request = [&](const ByteRange& range) {
      for (const ByteRange& before : requested) {
        EXPECT_TRUE(range.end() <= before.begin || before.end() <= range.begin);
      }
      EXPECT_LE(range.end(), bytes);
      requested.push_back(range);
      ++cost.requests;
      cost.bytes += range.size;
    };
    for (const std::uint64_t i : order) {
      const SweepWindows::Read read{id, layout.chunks.at(i), listed.at(i), bytes};
      Note(sweeps, read, layout, request);
      cost.most_outstanding = std::max(cost.most_outstanding, sweeps.outstanding());
      std::uint64_t found = 0;
      for (const ByteRange& range : requested) {
        const std::uint64_t begin = std::max(range.begin, read.range.begin);
        const std::uint64_t end = std::min(range.end(), read.range.end());
        if (begin < end) found += end - begin;
      }
      if (found != read.range.size) request(read.range);
    }
    return cost;
  }
  Cost Read(const Order& order) const {
    SweepWindows sweeps(kBudget);
    return Read(sweeps, order);
  }

  SweepWindows::Layout layout;
  std::uint64_t bytes = 0;
  Order listed;
  ReadAhead::Shard id{1, 2, 3};
};

Order Ascending(std::uint64_t count) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The places in a Morton order of a grid whose dimensions have so many bits, in C order. The first
// dimension has the lowest bits.
Order InMortonOrder(const std::vector<unsigned>& bits) {
  Order places{0};
  for (std::size_t d = 0; d < bits.size(); ++d) {
    Order longer;
    for (const std::uint64_t place : places) {
      for (std::uint64_t index = 0; index < (std::uint64_t{1} << bits[d]); ++index) {
        std::uint64_t with = place;
        unsigned to = 0;
        for (unsigned bit = 0; bit < 8; ++bit) {
          for (std::size_t other = 0; other < bits.size(); ++other) {
            if (bit >= bits[other]) continue;
            if (other == d) with |= (index >> bit & 1) << to;
            ++to;
          }
        }
        longer.push_back(with);
      }
    }
    places = std::move(longer);
  }
  return places;
}

void IsASweep(const Cost& cost, std::uint64_t chunks, std::uint64_t chunk = kSweptBytes) {
  EXPECT_LE(cost.requests * 50, chunks);
  EXPECT_EQ(cost.bytes, chunks * chunk);
  EXPECT_LE(cost.most_outstanding, kBudget);
}

void IsASweepWithGaps(const Cost& cost, std::uint64_t chunks) {
  EXPECT_LE(cost.requests * 50, chunks);
  EXPECT_LE(cost.bytes, chunks * kSweptBytes * 105 / 100);
}

TEST(SweepWindowsTest, ASweepInStorageOrderCostsAFewWindows) {
  const Cost cost = Shard(1024).Read(Ascending(1024));
  EXPECT_EQ(cost.requests, 14u) << "2 chunks, windows that double, smaller ones at the end";
  IsASweep(cost, 1024);
  IsASweep(Shard(4096).Read(Ascending(4096)), 4096);
}

TEST(SweepWindowsTest, ASweepOfLargeAndOfSmallChunksAsWell) {
  IsASweep(Shard(1024, 1000).Read(Ascending(1024)), 1024, 1000);
  IsASweep(Shard(1024, std::uint64_t{128} << 10).Read(Ascending(1024)), 1024,
           std::uint64_t{128} << 10);
}

TEST(SweepWindowsTest, ASweepBackwards) {
  Order order = Ascending(1024);
  std::reverse(order.begin(), order.end());
  IsASweep(Shard(1024).Read(order), 1024);
}

TEST(SweepWindowsTest, ASweepInListingOrderOfAShardInMortonOrder) {
  for (const std::vector<unsigned>& bits :
       std::vector<std::vector<unsigned>>{{5, 5}, {6, 6}, {4, 3, 3}, {4, 4, 4}, {3, 3, 5}}) {
    const Order order = InMortonOrder(bits);
    Shard shard(order.size());
    for (std::uint64_t i = 0; i < order.size(); ++i) shard.listed.at(order[i]) = i;
    IsASweep(shard.Read(order), order.size());
  }
}

// As sorted names of a precomputed scale, whose listing has the order of the storage: many reads
// jump, and each of these is single.
TEST(SweepWindowsTest, ASweepInAnOrderThatNothingHas) {
  for (const std::vector<unsigned>& bits :
       std::vector<std::vector<unsigned>>{{6, 6}, {4, 4, 4}, {5, 5, 5}}) {
    const Order order = InMortonOrder(bits);
    const Cost cost = Shard(order.size(), 4096).Read(order);
    EXPECT_LE(cost.requests * 25, order.size());
    EXPECT_EQ(cost.bytes, order.size() * 4096);
  }
}

TEST(SweepWindowsTest, EightThreadsThatSweepTogether) {
  Order left = Ascending(1024);
  Order order;
  std::mt19937 random(1);
  while (!left.empty()) {
    const auto next = left.begin() + static_cast<std::ptrdiff_t>(random() % 8 % left.size());
    order.push_back(*next);
    left.erase(next);
  }
  IsASweep(Shard(1024).Read(order), 1024);
}

TEST(SweepWindowsTest, ReadsInNoOrderAreNoSweep) {
  for (const std::uint64_t chunks : {100u, 1024u, 8192u}) {
    Order order = Ascending(chunks);
    std::mt19937 random(2);
    std::shuffle(order.begin(), order.end(), random);
    order.resize(std::min<std::uint64_t>(chunks / 2, 1024));
    const Cost cost = Shard(chunks).Read(order);
    EXPECT_EQ(cost.requests, order.size()) << chunks;
    EXPECT_EQ(cost.bytes, order.size() * kSweptBytes) << chunks;
  }
}

TEST(SweepWindowsTest, AfterASweepReadsInNoOrderAreSingleAgain) {
  const Shard shard(8192);
  SweepWindows sweeps(kBudget);
  shard.Read(sweeps, Ascending(512));
  Order order = Ascending(4096);
  std::mt19937 random(3);
  std::shuffle(order.begin(), order.end(), random);
  order.resize(200);
  for (std::uint64_t& i : order) i += 4096;
  const Cost cost = shard.Read(sweeps, order);
  EXPECT_EQ(cost.requests, 200u);
  EXPECT_EQ(cost.bytes, 200 * kSweptBytes);
}

TEST(SweepWindowsTest, ASecondSweepOfTheSameShardIsOneAsWell) {
  const Shard shard(1024, kSweptBytes, 256);
  SweepWindows sweeps(kBudget);
  IsASweepWithGaps(shard.Read(sweeps, Ascending(1024)), 1024);
  EXPECT_EQ(sweeps.outstanding(), 0u);
  IsASweepWithGaps(shard.Read(sweeps, Ascending(1024)), 1024);
}

TEST(SweepWindowsTest, ShardsInTurnsAreSweptEachForItself) {
  const Shard shard(1024);
  SweepWindows sweeps(kBudget);
  std::uint64_t requests = 0;
  for (std::uint64_t i = 0; i < 1024; ++i) {
    for (std::uint64_t number = 0; number < 2; ++number) {
      const SweepWindows::Read read{{1, number, 3}, shard.layout.chunks[i], i, shard.bytes};
      Note(sweeps, read, shard.layout, [&](const auto&) { ++requests; });
    }
  }
  EXPECT_LE(requests, 2 * 20u);
}

TEST(SweepWindowsTest, AheadOfReadsInStorageOrderTheWireHasAlwaysSomethingToBring) {
  const Shard shard(8192);
  SweepWindows sweeps(kBudget);
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const SweepWindows::Read read{shard.id, shard.layout.chunks[i], i, shard.bytes};
    Note(sweeps, read, shard.layout, [](const auto&) {});
    EXPECT_LE(sweeps.outstanding(), SweepWindows::kAhead * (i + 1) * kSweptBytes);
    EXPECT_LE(sweeps.outstanding(), SweepWindows::kFarthest);
    // A window of 8 MiB is requested as soon as there is room for it.
    const std::uint64_t least = SweepWindows::kFarthest / 4 * 3;
    if (i >= 3) {
      EXPECT_GE(sweeps.outstanding(), std::min(i * kSweptBytes, least) - kSweptBytes) << i;
    }
  }
}

TEST(SweepWindowsTest, ASweepGoesOnInTheNextShard) {
  Shard shard(1024);
  SweepWindows sweeps(kBudget);
  EXPECT_EQ(shard.Read(sweeps, Ascending(1024)).requests, 14u);
  for (shard.id.shard = 10; shard.id.shard < 13; ++shard.id.shard) {
    const Cost cost = shard.Read(sweeps, Ascending(1024));
    EXPECT_LE(cost.requests, 9u);  // the first of 2 MiB, and no chunk alone
    EXPECT_EQ(cost.bytes, 1024 * kSweptBytes);
  }
  shard.id.tree = 2;
  EXPECT_EQ(shard.Read(sweeps, Ascending(1024)).requests, 14u);
}

TEST(SweepWindowsTest, AfterASweepASingleChunkOfTheNextShardCostsASmallPartOfIt) {
  Shard shard(1024);
  SweepWindows sweeps(kBudget);
  shard.Read(sweeps, Ascending(1024));
  shard.id.shard = 10;
  const Cost one = shard.Read(sweeps, {500});
  EXPECT_EQ(one.requests, 1u);
  EXPECT_LE(one.bytes, shard.bytes / 16);
}

// Reads a shard in storage order. When it was announced that it ends: after so many reads, 0 for
// never.
std::uint64_t EndOf(SweepWindows& sweeps, const Shard& shard, std::uint64_t chunks) {
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    const SweepWindows::Read read{shard.id, shard.layout.chunks[i], i, shard.bytes};
    const SweepWindows::Place place = sweeps.Note(read);
    if (place == SweepWindows::Place::kAlone) continue;
    const auto ends = sweeps.Begin(read, place, shard.layout, [](const auto&) {});
    if (ends == SweepWindows::Ends::kNo) continue;
    EXPECT_EQ(end, 0u) << "announced twice";
    end = i + 1;
  }
  return end;
}

TEST(SweepWindowsTest, BeforeAShardEndsTheNextOneIsBegun) {
  Shard shard(1024);
  SweepWindows sweeps(kBudget);
  EXPECT_EQ(EndOf(sweeps, shard, 1024), 513u);
  const ReadAhead::Shard last = shard.id;
  shard.id.shard = 10;
  const SweepWindows::Read first{shard.id, shard.layout.chunks[0], 0, shard.bytes};
  std::vector<ByteRange> requested;
  const auto request = [&](const ByteRange& range) { requested.push_back(range); };
  sweeps.GoOn(last, first, shard.layout, request);
  ASSERT_EQ(requested.size(), 1u);
  EXPECT_EQ(requested[0].begin, first.range.begin);
  EXPECT_LE(requested[0].size, shard.bytes / SweepWindows::kPartOfSwept);
  sweeps.GoOn(last, first, shard.layout, request);
  EXPECT_EQ(requested.size(), 1u) << "not twice";
  // The reads that come find it, and go on.
  Note(sweeps, first, shard.layout, request);
  for (const ByteRange& range : requested) EXPECT_NE(range, first.range);
  EXPECT_NE(EndOf(sweeps, shard, 1024), 0u);
  EXPECT_EQ(sweeps.outstanding(), 0u);
}

TEST(SweepWindowsTest, OnlyASweepOfHalfOfAShardAnnouncesItsEnd) {
  const Shard shard(1024);
  SweepWindows part(kBudget);
  EXPECT_EQ(EndOf(part, shard, 512), 0u);
  SweepWindows backwards(kBudget);
  Order order = Ascending(1024);
  std::reverse(order.begin(), order.end());
  for (const std::uint64_t i : order) {
    const SweepWindows::Read read{shard.id, shard.layout.chunks[i], i, shard.bytes};
    const SweepWindows::Place place = backwards.Note(read);
    if (place == SweepWindows::Place::kAlone) continue;
    EXPECT_EQ(backwards.Begin(read, place, shard.layout, [](const auto&) {}),
              SweepWindows::Ends::kNo);
  }
}

TEST(SweepWindowsTest, InTheNextShardReadsInNoOrderAreSingle) {
  Shard shard(4096);
  SweepWindows sweeps(kBudget);
  shard.Read(sweeps, Ascending(4096));
  shard.id.shard = 10;
  Order order = Ascending(4096);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  order.resize(200);
  const Cost cost = shard.Read(sweeps, order);
  EXPECT_GE(cost.requests, 150u);  // a few are in the window of the first
  EXPECT_LE(cost.bytes, shard.bytes / 16 + 200 * kSweptBytes);
}

TEST(SweepWindowsTest, AfterAFewReadsOfAShardTheNextOneIsReadChunkByChunk) {
  Shard shard(1024);
  SweepWindows sweeps(kBudget);
  shard.Read(sweeps, Ascending(16));
  shard.id.shard = 10;
  EXPECT_EQ(shard.Read(sweeps, Ascending(1)).bytes, kSweptBytes);
}

TEST(SweepWindowsTest, WindowsStopAtGapsThatCostMoreThanTheyAreWorth) {
  IsASweepWithGaps(Shard(1024, kSweptBytes, 256).Read(Ascending(1024)), 1024);
  const Cost large = Shard(1024, kSweptBytes, kSweptBytes / 2).Read(Ascending(1024));
  EXPECT_EQ(large.requests, 1024u);
  EXPECT_EQ(large.bytes, 1024 * kSweptBytes);
}

TEST(SweepWindowsTest, WhereOtherChunksFollowAPageWindowsGoOn) {
  Shard all(1024);
  SweepWindows sweeps(kBudget);
  std::uint64_t requests = 0;
  for (std::uint64_t page = 0; page < 16; ++page) {
    SweepWindows::Layout layout;
    layout.goes_on = true;
    const auto first = all.layout.chunks.begin() + static_cast<std::ptrdiff_t>(page) * 64;
    layout.chunks.assign(first, first + 64);
    for (std::uint64_t i = 0; i < 64; ++i) {
      const SweepWindows::Read read{{1, 2, 3}, layout.chunks[i], i, all.bytes};
      if (!Note(sweeps, read, layout, [&](const auto&) { ++requests; })) ++requests;
    }
  }
  EXPECT_EQ(requests, 14u);
}

TEST(SweepWindowsTest, WhatIsRequestedAndNotReadStaysBelowTheBudget) {
  const Order order = InMortonOrder({4, 4, 4});
  Shard shard(order.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) shard.listed.at(order[i]) = i;
  for (const std::uint64_t budget : {std::uint64_t{1} << 20, std::uint64_t{8} << 20}) {
    SweepWindows sweeps(budget);
    const Cost cost = shard.Read(sweeps, order);
    EXPECT_LE(cost.most_outstanding, budget);
    EXPECT_LT(cost.requests, order.size());
    EXPECT_EQ(cost.bytes, order.size() * kSweptBytes);
  }
}

TEST(SweepWindowsTest, ASlowReadHalvesTheWindowsThatFollow) {
  const Shard shard(4096);
  SweepWindows sweeps(kBudget);
  std::vector<ByteRange> windows;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const SweepWindows::Read read{{1, 2, 3}, shard.layout.chunks[i], i, shard.bytes};
    Note(sweeps, read, shard.layout, [&](const ByteRange& each) { windows.push_back(each); });
    if (i != 260) continue;
    for (int reader = 0; reader < 8; ++reader) sweeps.Slow(read);  // all waited for one window
    windows.clear();
  }
  // Chunk 260 is in the window of 192 chunks that begins at chunk 192.
  ASSERT_GT(windows.size(), 2u);
  for (const ByteRange& window : windows) EXPECT_LE(window.size, 96 * kSweptBytes);
  EXPECT_EQ(windows[1].size, 96 * kSweptBytes);
}

}  // namespace
}  // namespace unshard
