#include "codec/precomputed/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codec/codecs/gzip.h"
#include "tests/support/index_walking.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// minishard_bits 1, everything raw: ids 2 and 8 in minishard 0, id 3 in minishard 1.
const ByteVector kReferenceShard = {
    0x07, 0,    0, 0, 0, 0,    0, 0, 0x37, 0, 0, 0, 0, 0, 0, 0, 0x39, 0, 0, 0,    0, 0, 0,
    0,    0x51, 0, 0, 0, 0,    0, 0, 0,    1, 2, 3, 4, 6, 7, 8, 2,    0, 0, 0,    0, 0, 0,
    0,    6,    0, 0, 0, 0,    0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0,    0, 0, 0,
    0,    0,    4, 0, 0, 0,    0, 0, 0,    0, 3, 0, 0, 0, 0, 0, 0,    0, 9, 0x0a, 3, 0, 0,
    0,    0,    0, 0, 0, 0x37, 0, 0, 0,    0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0,    0};

ShardingSpec Spec(unsigned preshift, unsigned minishard, unsigned shard) {
  ShardingSpec spec;
  spec.preshift_bits = preshift;
  spec.minishard_bits = minishard;
  spec.shard_bits = shard;
  return spec;
}

Result<IndexPage> Walk(const ShardingSpec& spec, ByteSpan object, std::uint64_t page,
                       std::uint64_t shard = 0, std::uint64_t max_index_bytes = 1 << 20) {
  return WalkInMemory(*MakeNeuroglancerShardFormat(spec), object, shard, page, max_index_bytes);
}

ErrorCode WalkFailure(const ShardingSpec& spec, ByteSpan object, std::uint64_t page = 0,
                      std::uint64_t max_index_bytes = 1 << 20) {
  const auto result = Walk(spec, object, page, 0, max_index_bytes);
  EXPECT_FALSE(result);
  return result ? ErrorCode::kInternal : result.error().code;
}

struct Row {
  std::uint64_t id_delta, start_delta, size;
};

// A shard with one minishard whose index says exactly this, in front of `data_size` bytes of data.
ByteVector ShardWithRows(std::initializer_list<Row> rows, std::size_t data_size,
                         ShardEncoding encoding = ShardEncoding::kRaw) {
  ByteVector index;
  for (const Row& row : rows) AppendU64Le(index, row.id_delta);
  for (const Row& row : rows) AppendU64Le(index, row.start_delta);
  for (const Row& row : rows) AppendU64Le(index, row.size);
  if (encoding == ShardEncoding::kGzip) index = GzipEncode(index);
  ByteVector shard;
  AppendU64Le(shard, data_size);
  AppendU64Le(shard, data_size + index.size());
  shard.resize(shard.size() + data_size, 0xDA);
  shard.insert(shard.end(), index.begin(), index.end());
  return shard;
}

TEST(NeuroglancerShard, ReferenceShardIsRead) {
  const ShardingSpec spec = Spec(0, 1, 0);
  ASSERT_EQ(kReferenceShard.size(), 113U);
  const auto even = Walk(spec, kReferenceShard, 0);
  ASSERT_TRUE(even);
  EXPECT_EQ(even->entries(),
            (std::vector<IndexEntry>{{2, ByteRange{32, 4}}, {8, ByteRange{36, 3}}}));
  const auto odd = Walk(spec, kReferenceShard, 1);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->entries(), (std::vector<IndexEntry>{{3, ByteRange{87, 2}}}));
}

TEST(NeuroglancerShard, WalkAsksForSixteenBytesThenForTheMinishardIndex) {
  const auto walk = MakeNeuroglancerShardFormat(Spec(0, 1, 0))->Walk(0, 1, 1 << 20);
  EXPECT_EQ(walk->Start(), RangeRequest::At(16, 16));
  const auto step = walk->Feed(ByteSpan(kReferenceShard).subspan(16, 16), kReferenceShard.size());
  ASSERT_TRUE(step);
  EXPECT_EQ(std::get<RangeRequest>(*step), RangeRequest::At(89, 24));
}

TEST(NeuroglancerShard, EmptyMinishardsHaveNoChunksWhateverTheirOffset) {
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{12345678}, kMax}) {
    ByteVector shard;
    AppendU64Le(shard, at);
    AppendU64Le(shard, at);
    EXPECT_TRUE(Walk(Spec(0, 0, 0), shard, 0)->entries().empty()) << at;
  }
}

TEST(NeuroglancerShard, AnObjectOfZeroBytesHasNoChunks) {
  for (const unsigned bits : {0U, 1U, 20U, 64U}) {
    EXPECT_TRUE(Walk(Spec(0, bits, 0), {}, 0)->entries().empty()) << bits;
  }
}

TEST(NeuroglancerShard, EveryTruncationIsDataLossOrReadsTheSame) {
  const ShardingSpec spec = Spec(0, 1, 0);
  for (std::size_t size = 1; size < kReferenceShard.size(); ++size) {
    EXPECT_EQ(WalkFailure(spec, ByteSpan(kReferenceShard).first(size), 1), ErrorCode::kDataLoss);
    const auto first = Walk(spec, ByteSpan(kReferenceShard).first(size), 0);
    EXPECT_EQ(first.has_value(), size >= 32 + 55) << size;
  }
}

TEST(NeuroglancerShard, ShortAnswersAreDataLoss) {
  const auto format = MakeNeuroglancerShardFormat(Spec(0, 1, 0));
  const ByteSpan shard(kReferenceShard);
  EXPECT_FALSE(format->Walk(0, 0, 1 << 20)->Feed(shard.first(15), shard.size()));
  const auto walk = format->Walk(0, 0, 1 << 20);
  ASSERT_TRUE(walk->Feed(shard.first(16), shard.size()));
  EXPECT_FALSE(walk->Feed(shard.subspan(39, 24), shard.size()));
}

TEST(NeuroglancerShard, AShardIndexLargerThanAnyObjectIsDataLoss) {
  for (const unsigned bits : {40U, 58U, 59U, 60U, 63U, 64U}) {
    for (const std::uint64_t page :
         {std::uint64_t{0}, std::uint64_t{1} << 39, kMax >> (64 - bits)}) {
      EXPECT_EQ(WalkFailure(Spec(0, bits, 0), kReferenceShard, page), ErrorCode::kDataLoss);
    }
  }
  EXPECT_EQ(WalkFailure(Spec(0, 1, 0), kReferenceShard, 2), ErrorCode::kDataLoss);
}

TEST(NeuroglancerShard, ShardIndexEntriesOutsideTheObjectAreDataLoss) {
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> entries = {
      {24, 0},
      {1, 0},
      {0, 25},
      {1, 25},
      {kMax, 0},
      {kMax, 24},
      {0, kMax},
      {kMax - 15, kMax},
      {kMax - 1, kMax},
      {std::uint64_t{1} << 63, kMax},
      {0, std::uint64_t{1} << 63},
      {(std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63}};
  for (const auto& [start, end] : entries) {
    ByteVector shard;
    AppendU64Le(shard, start);
    AppendU64Le(shard, end);
    shard.resize(16 + 24);
    EXPECT_EQ(WalkFailure(Spec(0, 0, 0), shard), ErrorCode::kDataLoss) << start << " " << end;
  }
}

TEST(NeuroglancerShard, IndexWhoseLengthIsNoMultipleOf24IsDataLoss) {
  ByteVector shard;
  AppendU64Le(shard, 0);
  AppendU64Le(shard, 23);
  shard.resize(100);
  EXPECT_EQ(WalkFailure(Spec(0, 0, 0), shard), ErrorCode::kDataLoss);
  StoreU64Le(shard.data() + 8, 25);
  EXPECT_EQ(WalkFailure(Spec(0, 0, 0), shard), ErrorCode::kDataLoss);
}

TEST(NeuroglancerShard, GapsAndBackwardStepsAreReadModulo64Bits) {
  // id 5 at 10..13, then id 3 at 2..4, then id 9 at 20..20.
  const ByteVector shard =
      ShardWithRows({{5, 10, 3}, {std::uint64_t{0} - 2, std::uint64_t{0} - 11, 2}, {6, 16, 0}}, 20);
  const auto page = Walk(Spec(0, 0, 0), shard, 0);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries(),
            (std::vector<IndexEntry>{
                {3, ByteRange{18, 2}}, {5, ByteRange{26, 3}}, {9, ByteRange{36, 0}}}));
}

TEST(NeuroglancerShard, ChunkRangesOutsideTheObjectDamageJustThatChunk) {
  const std::uint64_t half = std::uint64_t{1} << 63;
  for (const Row row : {Row{1, 0, 1000}, Row{1, 1000, 0}, Row{1, kMax, 1}, Row{1, kMax - 15, 16},
                        Row{1, 0, kMax}, Row{1, 1, kMax}, Row{1, half, 1}, Row{1, half - 1, half},
                        Row{1, 0, half}, Row{1, kMax - 7, 8}, Row{1, kMax - 15, 8}}) {
    const auto page = Walk(Spec(0, 0, 0), ShardWithRows({{1, 0, 0}, row}, 20), 0);
    ASSERT_TRUE(page) << row.start_delta << " " << row.size;
    ASSERT_EQ(page->entries().size(), 2U);
    EXPECT_FALSE(page->entries()[0].damaged());
    EXPECT_TRUE(page->entries()[1].damaged()) << row.start_delta << " " << row.size;
    EXPECT_EQ(page->Find(2), kDamagedRange);
  }
}

TEST(NeuroglancerShard, FirstOfEqualIdsWins) {
  const auto page = Walk(Spec(0, 0, 0), ShardWithRows({{7, 0, 1}, {0, 0, 2}, {0, 0, 3}}, 20), 0);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries(), (std::vector<IndexEntry>{{7, ByteRange{16, 1}}}));
}

TEST(NeuroglancerShard, IdsOfAnotherShardOrMinishardAreInvisible) {
  // One minishard bit, two shard bits: minishard 0 of shard 2 holds ids with low bits 100.
  const ShardingSpec spec = Spec(0, 1, 2);
  ByteVector shard;
  AppendU64Le(shard, 8);
  AppendU64Le(shard, 8 + 3 * 24);
  AppendU64Le(shard, 0);
  AppendU64Le(shard, 0);
  shard.resize(40);
  for (const std::uint64_t id_delta : {4U, 1U, 1U}) AppendU64Le(shard, id_delta);  // 4, 5, 6
  for (int i = 0; i < 3; ++i) AppendU64Le(shard, 0);
  for (int i = 0; i < 3; ++i) AppendU64Le(shard, 2);
  const auto page = Walk(spec, shard, 0, 2);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries(), (std::vector<IndexEntry>{{4, ByteRange{32, 2}}}));
  EXPECT_EQ(Walk(spec, shard, 0, 3)->entries(), (std::vector<IndexEntry>{{6, ByteRange{36, 2}}}));
}

TEST(NeuroglancerShard, CompressedIndexIsRead) {
  ShardingSpec spec = Spec(0, 0, 0);
  spec.minishard_index_encoding = ShardEncoding::kGzip;
  const ByteVector good = ShardWithRows({{7, 0, 1}, {2, 4, 2}}, 20, ShardEncoding::kGzip);
  EXPECT_EQ(Walk(spec, good, 0)->entries(),
            (std::vector<IndexEntry>{{7, ByteRange{16, 1}}, {9, ByteRange{21, 2}}}));
  EXPECT_TRUE(Walk(spec, ShardWithRows({}, 20, ShardEncoding::kGzip), 0)->entries().empty());
  EXPECT_EQ(WalkFailure(spec, ShardWithRows({{7, 0, 1}}, 20)), ErrorCode::kDataLoss);
}

TEST(NeuroglancerShard, IndexSizeIsBounded) {
  ShardingSpec spec = Spec(0, 0, 0);
  const ByteVector two = ShardWithRows({{7, 0, 1}, {2, 4, 2}}, 20);
  EXPECT_TRUE(Walk(spec, two, 0, 0, 48));
  EXPECT_EQ(WalkFailure(spec, two, 0, 47), ErrorCode::kResourceExhausted);

  spec.minishard_index_encoding = ShardEncoding::kGzip;
  const ByteVector bomb_index = GzipEncode(ByteVector(24'000'000, 0), 9);
  ByteVector bomb;
  AppendU64Le(bomb, 0);
  AppendU64Le(bomb, bomb_index.size());
  bomb.insert(bomb.end(), bomb_index.begin(), bomb_index.end());
  EXPECT_EQ(WalkFailure(spec, bomb, 0, 1 << 20), ErrorCode::kResourceExhausted);
  // Too large to be fetched at all.
  const auto walk = MakeNeuroglancerShardFormat(spec)->Walk(0, 0, 1000);
  ByteVector entry;
  AppendU64Le(entry, 0);
  AppendU64Le(entry, std::uint64_t{1} << 40);
  const auto step = walk->Feed(entry, std::uint64_t{1} << 41);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, ErrorCode::kResourceExhausted);
}

TEST(NeuroglancerShard, IdsAreLocatedByShiftHashAndBits) {
  const std::uint64_t id = 0xFEDCBA9876543210;
  EXPECT_EQ(LocateChunkId(Spec(0, 0, 0), id), (ShardSlot{0, 0, id}));
  EXPECT_EQ(LocateChunkId(Spec(4, 8, 12), id), (ShardSlot{0x543, 0x21, id}));
  EXPECT_EQ(LocateChunkId(Spec(64, 8, 12), id), (ShardSlot{0, 0, id}));
  EXPECT_EQ(LocateChunkId(Spec(63, 8, 12), id), (ShardSlot{0, 1, id}));
  EXPECT_EQ(LocateChunkId(Spec(0, 64, 0), id), (ShardSlot{0, id, id}));
  EXPECT_EQ(LocateChunkId(Spec(0, 0, 64), id), (ShardSlot{id, 0, id}));
  EXPECT_EQ(LocateChunkId(Spec(0, 32, 32), id), (ShardSlot{0xFEDCBA98, 0x76543210, id}));
  EXPECT_EQ(LocateChunkId(Spec(0, 63, 1), id), (ShardSlot{1, id & (kMax >> 1), id}));
  ShardingSpec hashed = Spec(0, 8, 16);
  hashed.hash = ChunkIdHash::kMurmurHash3X86_128;
  EXPECT_EQ(LocateChunkId(hashed, 42), (ShardSlot{0x19f4, 0x7a, 42}));  // c20b94f95119f47a
  hashed.preshift_bits = 64;
  EXPECT_EQ(LocateChunkId(hashed, 42), (ShardSlot{0x28ae, 0x41, 42}));  // hash of 0
}

TEST(NeuroglancerShard, FileNamesArePaddedLowerCaseHex) {
  EXPECT_EQ(ShardFileName(Spec(0, 0, 0), 0), "0.shard");
  EXPECT_EQ(ShardFileName(Spec(0, 0, 1), 1), "1.shard");
  EXPECT_EQ(ShardFileName(Spec(0, 0, 4), 0xa), "a.shard");
  EXPECT_EQ(ShardFileName(Spec(0, 0, 9), 0xaf), "0af.shard");
  EXPECT_EQ(ShardFileName(Spec(0, 0, 64), kMax), "ffffffffffffffff.shard");
  EXPECT_EQ(ObsoleteShardFileNames(Spec(0, 0, 9), 0xaf).index, "0af.index");
  EXPECT_EQ(ObsoleteShardFileNames(Spec(0, 0, 9), 0xaf).data, "0af.data");
}

TEST(NeuroglancerShard, OnlyExactFileNamesAreParsed) {
  const ShardingSpec spec = Spec(0, 0, 9);
  EXPECT_EQ(ParseShardFileName(spec, "0af.shard"), 0xafU);
  EXPECT_EQ(ParseShardFileName(spec, "1ff.shard"), 0x1ffU);
  for (const std::string_view name :
       {"200.shard", "0AF.shard", "af.shard", "00af.shard", "0af", "", ".shard", "0af.shard.gz",
        "0ag.shard", "+af.shard", "0af.index", "0af.SHARD", " af.shard"}) {
    EXPECT_EQ(ParseShardFileName(spec, name), std::nullopt) << name;
  }
  EXPECT_EQ(ParseShardFileName(Spec(0, 0, 0), "0.shard"), 0U);
  EXPECT_EQ(ParseShardFileName(Spec(0, 0, 0), "1.shard"), std::nullopt);
  EXPECT_EQ(ParseShardFileName(Spec(0, 0, 64), "ffffffffffffffff.shard"), kMax);
  EXPECT_EQ(ParseObsoleteShardFileName(spec, "0af.index"), 0xafU);
  EXPECT_EQ(ParseObsoleteShardFileName(spec, "0af.data"), 0xafU);
  EXPECT_EQ(ParseObsoleteShardFileName(spec, "0af.shard"), std::nullopt);
}

TEST(NeuroglancerShard, PagesAreCounted) {
  EXPECT_EQ(MakeNeuroglancerShardFormat(Spec(0, 0, 0))->page_count(), 1U);
  EXPECT_EQ(MakeNeuroglancerShardFormat(Spec(0, 63, 0))->page_count(), std::uint64_t{1} << 63);
  EXPECT_EQ(MakeNeuroglancerShardFormat(Spec(0, 64, 0))->page_count(), 0U);
}

TEST(NeuroglancerShard, EntriesAreDecodedByTheDataEncoding) {
  ShardingSpec spec = Spec(0, 0, 0);
  const Bytes plain(ByteVector(1000, 7));
  const auto raw = MakeNeuroglancerShardFormat(spec);
  EXPECT_TRUE(raw->stored_is_plain());
  EXPECT_EQ(raw->DecodeEntry(plain, 1000)->data(), plain.data());
  EXPECT_EQ(raw->DecodeEntry(plain, 999).error().code, ErrorCode::kResourceExhausted);

  spec.data_encoding = ShardEncoding::kGzip;
  const auto gzip = MakeNeuroglancerShardFormat(spec);
  EXPECT_FALSE(gzip->stored_is_plain());
  const Bytes stored(GzipEncode(plain.span()));
  const auto decoded = gzip->DecodeEntry(stored, 1000);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(ByteVector(decoded->span().begin(), decoded->span().end()), ByteVector(1000, 7));
  EXPECT_EQ(gzip->DecodeEntry(stored, 999).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(gzip->DecodeEntry(plain, 1000).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(gzip->DecodeEntry(stored.Slice(0, 3), 1000).error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(gzip->DecodeEntry(Bytes(), 1000)->empty());
}

// All ids of so many bits, in the order of their numbers.
std::vector<std::uint64_t> IdsInOrder(const StorageOrder& order, unsigned bits) {
  std::map<std::uint64_t, std::uint64_t> ids;
  for (std::uint64_t id = 0; id < std::uint64_t{1} << bits; ++id) {
    const std::uint64_t number = order.NumberOf(id);
    EXPECT_EQ(order.IdAt(number), id);
    EXPECT_TRUE(ids.emplace(number, id).second) << "number " << number << " twice";
  }
  std::vector<std::uint64_t> ordered;
  for (const auto& [number, id] : ids) ordered.push_back(id);
  return ordered;
}

TEST(StorageOrder, GoesByShardMinishardAndId) {
  constexpr unsigned kBits = 8;
  for (const ChunkIdHash hash : {ChunkIdHash::kIdentity, ChunkIdHash::kMurmurHash3X86_128}) {
    for (unsigned sizes = 0; sizes < 5 * 4 * 4; ++sizes) {
      const ShardingSpec spec{.preshift_bits = sizes % 5 * 2,
                              .hash = hash,
                              .minishard_bits = sizes / 5 % 4,
                              .shard_bits = sizes / 20 * 3};
      const std::vector<std::uint64_t> ids = IdsInOrder(StorageOrder(spec, kBits, 41), kBits);
      EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end(),
                                 [&](std::uint64_t a, std::uint64_t b) {
                                   const ShardSlot x = LocateChunkId(spec, a);
                                   const ShardSlot y = LocateChunkId(spec, b);
                                   return std::tie(x.shard, x.page, a) <
                                          std::tie(y.shard, y.page, b);
                                 }))
          << "preshift " << spec.preshift_bits << ", minishard " << spec.minishard_bits
          << ", shard " << spec.shard_bits;
    }
  }
}

TEST(StorageOrder, NumbersStayAsShortAsTheIdsWhereTheHashIsTheIdentity) {
  const ShardingSpec spec{.preshift_bits = 9, .minishard_bits = 6, .shard_bits = 15};
  const StorageOrder order(spec, 40, 41);
  for (const std::uint64_t id : {std::uint64_t{0}, (std::uint64_t{1} << 40) - 1,
                                 std::uint64_t{0x8123456789}, std::uint64_t{1} << 30}) {
    EXPECT_LT(order.NumberOf(id), std::uint64_t{1} << 40);
    EXPECT_EQ(order.IdAt(order.NumberOf(id)), id);
  }
}

TEST(StorageOrder, WithoutBitsForAHashTheNumbersAreTheIds) {
  const ShardingSpec spec{
      .hash = ChunkIdHash::kMurmurHash3X86_128, .minishard_bits = 6, .shard_bits = 15};
  EXPECT_EQ(StorageOrder(spec, 21, 41).NumberOf(77), 77u);
  EXPECT_NE(StorageOrder(spec, 20, 41).NumberOf(77), 77u);
  const ShardingSpec wide{.preshift_bits = 64, .minishard_bits = 60, .shard_bits = 4};
  EXPECT_EQ(StorageOrder(wide, 64, 41).NumberOf(~std::uint64_t{0}), ~std::uint64_t{0});
}

}  // namespace
}  // namespace unshard
