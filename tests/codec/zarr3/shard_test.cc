#include "codec/zarr3/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/chain/unshard.h"
#include "codec/codecs/gzip.h"
#include "codec/core/crc32c.h"
#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/zarr3/locator.h"

namespace unshard {
namespace {

constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;
using Rows = std::vector<std::uint64_t>;  // offset, size, offset, size, …

Unsharded Resolve(const std::string& codecs, const std::vector<std::uint64_t>& shard_shape) {
  const auto json = ParseJson(codecs);
  EXPECT_TRUE(json) << json.error().message;
  const auto chain = ParseChainSpec(JsonCursor(*json, "codecs"), shard_shape.size());
  EXPECT_TRUE(chain) << chain.error().message;
  auto sharding = Unshard(*chain, *ChunkGrid::Make(shard_shape, shard_shape), std::nullopt);
  EXPECT_TRUE(sharding) << sharding.error().message;
  return *std::move(sharding);
}

std::string ShardingOf(const std::string& chunk_shape, const std::string& more = "",
                       const std::string& inner = R"(["bytes"])") {
  return R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" + chunk_shape +
         R"(,"codecs":)" + inner + more + "}}";
}
const std::string kCrcIndex = R"(,"index_codecs":["bytes","crc32c"])";

std::shared_ptr<const ShardFormat> MakeFormat(Unsharded sharding) {
  auto format = MakeZarrShardFormat(std::move(sharding.levels), std::move(sharding.outer_codecs));
  EXPECT_TRUE(format) << format.error().message;
  return *format;
}

ByteVector Index(const Rows& rows, bool checksum) {
  ByteVector index;
  for (const std::uint64_t value : rows) AppendU64Le(index, value);
  if (checksum) AppendU32Le(index, Crc32c(index));
  return index;
}

ByteVector operator+(ByteVector a, const ByteVector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct WalkedPage {
  Result<IndexPage> page;
  int requests = 0;
};

WalkedPage Walk(const ShardFormat& format, const ByteVector& object, std::uint64_t page = 0,
                std::uint64_t max_index_bytes = kNoLimit) {
  const auto walk = format.Walk(0, page, max_index_bytes);
  RangeRequest request = walk->Start();
  for (int requests = 1;; ++requests) {
    const std::uint64_t size = object.size();
    const std::uint64_t begin =
        request.suffix ? size - std::min(size, request.size) : std::min(size, request.begin);
    const ByteSpan bytes = ByteSpan(object).subspan(begin, std::min(request.size, size - begin));
    auto step = walk->Feed(bytes, size);
    if (!step) return {tl::unexpected<Error>(step.error()), requests};
    if (auto* found = std::get_if<IndexPage>(&*step)) return {std::move(*found), requests};
    request = std::get<RangeRequest>(*step);
  }
}

ErrorCode CodeOf(const WalkedPage& walked) {
  EXPECT_FALSE(walked.page);
  return walked.page ? ErrorCode::kInternal : walked.page.error().code;
}

// The specification's layout, byte for byte: slot 0 = (0, 10), slot 2 = (10, 7).
ByteVector SampleIndex() {
  ByteVector index = Index({0, 10, kEmpty, kEmpty, 10, 7, kEmpty, kEmpty}, false);
  AppendU32Le(index, 0x2b9bd5f4);
  return index;
}

TEST(ZarrShardTest, ReadsAnIndexAtTheEndByOneRequest) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + "]", {4}));
  const WalkedPage walked = Walk(*format, ByteVector(17, 'x') + SampleIndex());
  ASSERT_TRUE(walked.page) << walked.page.error().message;
  EXPECT_EQ(walked.requests, 1);
  EXPECT_EQ(walked.page->entries(), (std::vector<IndexEntry>{{0, {0, 10}}, {2, {10, 7}}}));
  EXPECT_EQ(walked.page->Find(1), std::nullopt);
  EXPECT_EQ(format->page_count(), 1u);
  EXPECT_TRUE(format->stored_is_plain());
  EXPECT_FALSE(format->has_outer_codecs());
}

TEST(ZarrShardTest, CountsOffsetsFromTheShardWithTheIndexAtTheStart) {
  const auto format = MakeFormat(
      Resolve("[" + ShardingOf("[1]", kCrcIndex + R"(,"index_location":"start")") + "]", {2}));
  const auto walk = format->Walk(0, 0, kNoLimit);
  EXPECT_EQ(walk->Start(), RangeRequest::At(0, 36));
  // Old writers added the length of the index to the offset of empty entries, which wrapped.
  const WalkedPage walked = Walk(*format, Index({36, 5, 35, kEmpty}, true) + ByteVector(5, 'x'));
  ASSERT_TRUE(walked.page) << walked.page.error().message;
  EXPECT_EQ(walked.page->entries(), (std::vector<IndexEntry>{{0, {36, 5}}}));
}

TEST(ZarrShardTest, DistinguishesEmptyFromZeroLength) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + "]", {4}));
  const WalkedPage walked =
      Walk(*format, Index({0, 0, kEmpty, 3, 3, kEmpty, kEmpty, kEmpty}, true));
  ASSERT_TRUE(walked.page);
  EXPECT_EQ(walked.page->entries(), (std::vector<IndexEntry>{{0, {0, 0}}}));
}

TEST(ZarrShardTest, KeepsADamagedEntryToItsOwnChunk) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + "]", {6}));
  const std::uint64_t half = std::uint64_t{1} << 63;
  const Rows rows = {0, 8, 4, 105, half, half, kEmpty - 1, 2, 0, kEmpty - 1, 8, 1};
  const WalkedPage walked = Walk(*format, ByteVector(8, 'x') + Index(rows, true));
  ASSERT_TRUE(walked.page) << walked.page.error().message;
  ASSERT_EQ(walked.page->entries().size(), 6u);
  EXPECT_EQ(walked.page->Find(0), (ByteRange{0, 8}));
  for (std::uint64_t slot = 1; slot < 6; ++slot) {
    EXPECT_TRUE(walked.page->entries()[slot].damaged()) << slot;
  }
}

TEST(ZarrShardTest, ReportsAWrongChecksumAsDamage) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + "]", {4}));
  const ByteVector object = ByteVector(17, 'x') + SampleIndex();
  for (std::size_t at = 17; at < object.size(); ++at) {
    ByteVector damaged = object;
    damaged[at] ^= 1;
    EXPECT_EQ(CodeOf(Walk(*format, damaged)), ErrorCode::kDataLoss) << at;
  }
}

TEST(ZarrShardTest, ShortObjectsAreDamaged) {
  for (const char* location : {"start", "end"}) {
    const auto format = MakeFormat(Resolve(
        "[" + ShardingOf("[1]", kCrcIndex + R"(,"index_location":")" + location + "\"") + "]",
        {4}));
    for (std::size_t size = 0; size < 68; ++size) {
      EXPECT_EQ(CodeOf(Walk(*format, ByteVector(size))), ErrorCode::kDataLoss) << size;
    }
  }
}

TEST(ZarrShardTest, ReadsBigEndianAndTransposedIndexes) {
  const auto format = MakeFormat(Resolve(
      "[" +
          ShardingOf("[1,1]",
                     R"(,"index_codecs":[{"name":"transpose","configuration":{"order":[2,1,0]}},)"
                     R"({"name":"bytes","configuration":{"endian":"big"}}])") +
          "]",
      {2, 3}));
  // Slot (i, j) = i * 3 + j stands at [k, j, i] of an array of shape [2, 3, 2].
  ByteVector index(12 * 8);
  for (std::uint64_t slot = 0; slot < 6; ++slot) {
    const std::uint64_t offset_at = slot % 3 * 2 + slot / 3;
    index[offset_at * 8 + 7] = static_cast<std::uint8_t>(slot);
    index[(offset_at + 6) * 8 + 7] = static_cast<std::uint8_t>(slot + 1);
  }
  const WalkedPage walked = Walk(*format, ByteVector(20, 'x') + index);
  ASSERT_TRUE(walked.page) << walked.page.error().message;
  for (std::uint64_t slot = 0; slot < 6; ++slot) {
    EXPECT_EQ(walked.page->Find(slot), (ByteRange{slot, slot + 1})) << slot;
  }
}

TEST(ZarrShardTest, GuessesTheChecksumWhereIndexCodecsAreAbsent) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]") + "]", {2}));
  const Rows rows = {0, 3, kEmpty, kEmpty};
  for (const bool checksum : {true, false}) {
    const WalkedPage walked = Walk(*format, ByteVector(3, 'x') + Index(rows, checksum));
    ASSERT_TRUE(walked.page) << walked.page.error().message;
    EXPECT_EQ(walked.requests, 1);
    EXPECT_EQ(walked.page->entries(), (std::vector<IndexEntry>{{0, {0, 3}}}));
  }
  EXPECT_TRUE(Walk(*format, Index({0, 0, kEmpty, kEmpty}, false)).page);
  ByteVector damaged = ByteVector(3, 'x') + Index(rows, true);
  damaged[4] ^= 0x55;
  EXPECT_EQ(CodeOf(Walk(*format, damaged)), ErrorCode::kDataLoss);
}

TEST(ZarrShardTest, FindsTheIndexBeforeAChecksumOfTheShard) {
  const auto format =
      MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + R"(,"crc32c"])", {4}));
  EXPECT_FALSE(format->has_outer_codecs());
  const ByteVector object = ByteVector(17, 'x') + SampleIndex() + ByteVector(4, 'c');
  const WalkedPage walked = Walk(*format, object);
  ASSERT_TRUE(walked.page) << walked.page.error().message;
  EXPECT_EQ(walked.page->Find(2), (ByteRange{10, 7}));
}

TEST(ZarrShardTest, CountsOffsetsFromAfterALeadingChecksum) {
  const std::string tail = R"(,"numcodecs.adler32"])";
  for (const char* location : {"start", "end"}) {
    const bool at_start = std::string(location) == "start";
    const auto format = MakeFormat(Resolve(
        "[" + ShardingOf("[1]", kCrcIndex + R"(,"index_location":")" + location + "\"") + tail,
        {1}));
    const std::uint64_t offset = at_start ? 20 : 0;
    const ByteVector index = Index({offset, 3}, true);
    const ByteVector data(3, 'x');
    const WalkedPage walked =
        Walk(*format, ByteVector(4, 'c') + (at_start ? index + data : data + index));
    ASSERT_TRUE(walked.page) << walked.page.error().message;
    EXPECT_EQ(walked.page->Find(0), (ByteRange{offset + 4, 3}));
  }
}

TEST(ZarrShardTest, DecodesACompressedShardAsAWhole) {
  const std::string gzip = R"(,{"name":"gzip","configuration":{"level":1}},"crc32c"])";
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + gzip, {4}));
  ASSERT_TRUE(format->has_outer_codecs());
  const ByteVector plain = ByteVector(17, 'x') + SampleIndex();
  ByteVector stored = GzipEncode(plain);
  AppendU32Le(stored, Crc32c(stored));
  const auto decoded = format->DecodeShard(Bytes(stored), 1000);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(std::ranges::equal(decoded->span(), plain));
  EXPECT_TRUE(Walk(*format, plain).page);
  EXPECT_EQ(format->DecodeShard(Bytes(stored), plain.size() - 1).error().code,
            ErrorCode::kResourceExhausted);
  stored[0] ^= 1;
  EXPECT_EQ(format->DecodeShard(Bytes(stored), 1000).error().code, ErrorCode::kDataLoss);
}

TEST(ZarrShardTest, WalksNestedShardsByOneRequestPerLevel) {
  const std::string inner = "[" + ShardingOf("[1]", kCrcIndex) + R"(,"crc32c"])";
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[2]", kCrcIndex, inner) + "]", {6}));
  EXPECT_EQ(format->page_count(), 3u);
  const ByteVector nested =
      ByteVector(5, 'n') + Index({0, 5, kEmpty, kEmpty}, true) + ByteVector(4, 'c');
  const std::uint64_t size = nested.size();
  const ByteVector object =
      ByteVector(9, 'x') + nested + Index({9, size, kEmpty, kEmpty, 9, size + 100}, true);
  const WalkedPage first = Walk(*format, object, 0);
  ASSERT_TRUE(first.page) << first.page.error().message;
  EXPECT_EQ(first.requests, 2);
  EXPECT_EQ(first.page->entries(), (std::vector<IndexEntry>{{0, {9, 5}}}));
  const WalkedPage empty = Walk(*format, object, 1);
  ASSERT_TRUE(empty.page);
  EXPECT_EQ(empty.requests, 1);
  EXPECT_TRUE(empty.page->entries().empty());
  EXPECT_EQ(CodeOf(Walk(*format, object, 2)), ErrorCode::kDataLoss);
}

TEST(ZarrShardTest, BoundsTheIndexBeforeItIsFetched) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + "]", {1000000}));
  const auto walk = format->Walk(0, 0, 1000);
  EXPECT_LE(walk->Start().size, 1u);
  EXPECT_EQ(CodeOf(Walk(*format, ByteVector(100), 0, 1000)), ErrorCode::kResourceExhausted);
}

TEST(ZarrShardTest, AnIndexOfJustTheLimitIsTakenHoweverFullItIs) {
  const auto format = MakeFormat(Resolve("[" + ShardingOf("[1]", kCrcIndex) + "]", {2}));
  const ByteVector object = ByteVector(5, 'x') + Index({0, 3, 3, 2}, true);
  const WalkedPage full = Walk(*format, object, 0, 36);
  ASSERT_TRUE(full.page) << full.page.error().message;
  EXPECT_EQ(full.page->entries().size(), 2u);
  EXPECT_EQ(CodeOf(Walk(*format, object, 0, 35)), ErrorCode::kResourceExhausted);
}

TEST(ZarrLocatorTest, IsTheInverseOfItselfThroughTransposesAndNesting) {
  const std::string transpose = R"({"name":"transpose","configuration":{"order":[2,0,1]}})";
  const std::string innermost = "[" + transpose + "," + ShardingOf("[1,2,1]", kCrcIndex) + "]";
  // In array space: shards 12 x 8 x 4, then [2,0,1]: 4 x 12 x 8, inner 2 x 6 x 4.
  const Unsharded sharding = Resolve(
      "[" + transpose + "," + ShardingOf("[2,6,4]", kCrcIndex, innermost) + "]", {12, 8, 4});
  // Second transpose of 2 x 6 x 4 gives 4 x 2 x 6 over the array axes 1, 2, 0.
  EXPECT_EQ(sharding.chunk_shape, (std::vector<std::uint64_t>{1, 1, 2}));
  EXPECT_EQ(sharding.levels[1].axes, (std::vector<std::size_t>{1, 2, 0}));
  std::vector<std::string> names;
  for (const CodecSpec& codec : sharding.codecs) names.push_back(codec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"transpose", "transpose", "bytes"}));
  const ChunkGrid grid = *ChunkGrid::Make({20, 9, 7}, sharding.chunk_shape);
  const ChunkGrid shards = *ChunkGrid::Make({20, 9, 7}, {12, 8, 4});
  const auto locator = MakeZarrChunkLocator(grid, shards, sharding.levels);
  std::uint64_t cells = 0;
  GridCell cell(3);
  const std::uint64_t pages = sharding.levels[0].chunk_count;
  for (std::uint64_t shard = 0; shard < shards.cell_count(); ++shard) {
    for (std::uint64_t page = 0; page < pages; ++page) {
      for (std::uint64_t slot = 0; slot < sharding.levels[1].chunk_count; ++slot) {
        const ShardSlot at{shard, page, slot};
        if (!locator->CellAt(at, cell)) continue;
        ++cells;
        ASSERT_EQ(locator->Locate(cell), at);
      }
    }
  }
  EXPECT_EQ(cells, grid.cell_count());
  EXPECT_FALSE(locator->CellAt({shards.cell_count(), 0, 0}, cell));
  EXPECT_FALSE(locator->CellAt({0, pages, 0}, cell));
  EXPECT_FALSE(locator->CellAt({0, 0, sharding.levels[1].chunk_count}, cell));
}

TEST(ZarrLocatorTest, CountsSlotsInTransposedOrder) {
  const Unsharded sharding = Resolve(R"([{"name":"transpose","configuration":{"order":"F"}},)" +
                                         ShardingOf("[2,1]", kCrcIndex) + "]",
                                     {4, 6});
  EXPECT_EQ(sharding.chunk_shape, (std::vector<std::uint64_t>{1, 2}));
  const ChunkGrid grid = *ChunkGrid::Make({4, 6}, sharding.chunk_shape);
  const auto locator =
      MakeZarrChunkLocator(grid, *ChunkGrid::Make({4, 6}, {4, 6}), sharding.levels);
  EXPECT_EQ(locator->Locate(GridCell{3, 0}).slot, 3u);
  EXPECT_EQ(locator->Locate(GridCell{0, 1}).slot, 4u);
}

TEST(ZarrLocatorTest, NeverListsSlotsBeyondTheArray) {
  const Unsharded sharding = Resolve("[" + ShardingOf("[2]", kCrcIndex) + "]", {8});
  const ChunkGrid grid = *ChunkGrid::Make({11}, {2});
  const auto locator = MakeZarrChunkLocator(grid, *ChunkGrid::Make({11}, {8}), sharding.levels);
  GridCell cell(1);
  EXPECT_TRUE(locator->CellAt({1, 0, 1}, cell));
  EXPECT_EQ(cell, (GridCell{5}));
  EXPECT_FALSE(locator->CellAt({1, 0, 2}, cell));
}

TEST(ZarrLocatorTest, ServesRankZero) {
  const Unsharded sharding = Resolve("[" + ShardingOf("[]", kCrcIndex) + "]", {});
  const auto format = MakeFormat(sharding);
  const WalkedPage walked = Walk(*format, ByteVector(3, 'x') + Index({0, 3}, true));
  ASSERT_TRUE(walked.page) << walked.page.error().message;
  EXPECT_EQ(walked.page->Find(0), (ByteRange{0, 3}));
  const auto locator = MakeZarrChunkLocator(ChunkGrid(), ChunkGrid(), sharding.levels);
  EXPECT_EQ(locator->Locate({}), (ShardSlot{0, 0, 0}));
  EXPECT_TRUE(locator->CellAt({0, 0, 0}, {}));
}

TEST(ZarrShardKeysTest, AreTheKeysOfTheShardGrid) {
  const auto keys = MakeZarrShardKeys(*ChunkGrid::Make({10, 30}, {5, 10}), {});
  EXPECT_EQ(keys->Key(4), "c/1/1");
  EXPECT_EQ(keys->Parse("c/1/1"), 4u);
  EXPECT_EQ(keys->Parse("c/2/0"), std::nullopt);
  EXPECT_EQ(keys->Parse("c/1"), std::nullopt);
  EXPECT_FALSE(keys->ObsoletePair(0));
}

}  // namespace
}  // namespace unshard
