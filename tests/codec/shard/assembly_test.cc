// Assemblies of both formats: what they put is what the index walk of readers finds.
#include "codec/shard/assembly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/core/crc32c.h"
#include "codec/zarr3/document.h"
#include "tests/support/codecs.h"
#include "tests/support/index_walking.h"
#include "tests/support/shard_writer.h"

namespace unshard {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

using Place = std::pair<std::uint64_t, std::uint64_t>;  // page, slot
using Content = std::map<Place, ByteVector>;            // the plain bytes of each chunk
using Ranges = std::map<Place, ByteRange>;

struct TestedFormat {
  std::string name;
  std::shared_ptr<const ShardFormat> format;
  std::vector<Place> places;  // where a chunk may stand
  bool appends = true;
};
constexpr std::uint64_t kShard = 2;  // of the precomputed formats

TestedFormat Precomputed(const std::string& name, ShardingSpec spec) {
  TestedFormat tested{name, MakeNeuroglancerShardFormat(spec), {}};
  for (std::uint64_t id = 0; tested.places.size() < 60; id += 1 + id / 50) {
    const ShardSlot slot = LocateChunkId(spec, id);
    if (slot.shard == kShard) tested.places.emplace_back(slot.page, id);
  }
  return tested;
}

std::shared_ptr<const ShardFormat> ZarrFormat(const std::string& shape, const std::string& codecs) {
  const auto node = ParseZarrMetadata(
      R"({"zarr_format":3,"node_type":"array","data_type":"uint8","fill_value":0,"shape":)" +
      shape + R"(,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + shape +
      R"(}},"chunk_key_encoding":"default","codecs":)" + codecs + "}");
  EXPECT_TRUE(node && node->sharded) << (node ? "not sharded" : node.error().message);
  return node->sharded->format;
}

std::string Sharding(const std::string& chunk_shape, const std::string& more = "",
                     const std::string& inner = R"(["bytes"])") {
  return R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" + chunk_shape +
         R"(,"codecs":)" + inner + more + "}}";
}

const std::string kCrcIndex = R"(,"index_codecs":["bytes","crc32c"])";
const std::string kAtStart = R"(,"index_location":"start")";
const std::string kStrangeIndex =
    R"(,"index_codecs":[{"name":"transpose","configuration":{"order":[2,0,1]}},)"
    R"({"name":"bytes","configuration":{"endian":"big"}},"numcodecs.adler32","crc32c"])";

TestedFormat Zarr(const std::string& name, const std::string& shape, std::uint64_t pages,
                  std::uint64_t slots, const std::string& codecs, bool appends) {
  TestedFormat tested{name, ZarrFormat(shape, codecs), {}, appends};
  EXPECT_EQ(tested.format->page_count(), pages) << name;
  for (std::uint64_t page = 0; page < pages; ++page) {
    for (std::uint64_t slot = 0; slot < slots; ++slot) tested.places.emplace_back(page, slot);
  }
  return tested;
}

std::vector<TestedFormat> TestedFormats() {
  using enum ShardEncoding;
  const auto murmur = ChunkIdHash::kMurmurHash3X86_128;
  const std::string inner = "[" + Sharding("[1,2]", kStrangeIndex + kAtStart) + R"(,"crc32c"])";
  const std::string around = R"(,"numcodecs.adler32","crc32c"])";
  return {
      Precomputed("raw", {0, ChunkIdHash::kIdentity, 2, 2, kRaw, kRaw}),
      Precomputed("gzip", {1, murmur, 3, 2, kGzip, kGzip}),
      Precomputed("sparse minishards", {0, murmur, 17, 2, kGzip, kRaw}),
      Zarr("index at end", "[30]", 1, 30, "[" + Sharding("[1]", kCrcIndex) + "]", true),
      Zarr("index at start", "[30]", 1, 30, "[" + Sharding("[1]", kCrcIndex + kAtStart) + "]",
           true),
      Zarr("guessed checksum", "[9]", 1, 9, "[" + Sharding("[1]") + "]", true),
      Zarr("guessed at start", "[9]", 1, 9, "[" + Sharding("[1]", kAtStart) + "]", false),
      Zarr("strange index", "[4,6]", 1, 12, "[" + Sharding("[1,2]", kStrangeIndex) + "]", true),
      Zarr("checksums around", "[9]", 1, 9, "[" + Sharding("[1]", kCrcIndex) + around, false),
      Zarr("nested", "[4,12]", 6, 4, "[" + Sharding("[2,4]", kCrcIndex, inner) + R"(,"crc32c"])",
           false),
      Zarr("nested twice", "[64]", 16, 4,
           "[" +
               Sharding("[16]", kCrcIndex + kAtStart,
                        "[" + Sharding("[4]", "", "[" + Sharding("[1]", kCrcIndex) + "]") + "]") +
               "]",
           false),
      Zarr("wrapped", "[9]", 1, 9, "[" + Sharding("[1]", kCrcIndex) + R"(,"gzip","crc32c"])",
           false),
  };
}

Result<ByteVector> PutTogether(ShardAssembly& assembly, const ShardFormat& format,
                               const std::vector<ByteVector>& plain, ByteVector base = {}) {
  const auto stored = [&](std::size_t number) -> Result<ChunkBytes> {
    UNSHARD_ASSIGN_OR_RETURN(Bytes entry, format.EncodeEntry(Bytes(plain.at(number))));
    return ChunkBytes{{}, std::move(entry)};
  };
  return AssembleInMemory(assembly, stored, kNoLimit, std::move(base));
}

// The content as a whole new shard, its chunks given in an order of chance.
ByteVector Assembled(const TestedFormat& tested, const Content& content, std::mt19937_64& random) {
  std::vector<std::pair<Place, ByteVector>> shuffled(content.begin(), content.end());
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::vector<AssembledChunk> chunks;
  std::vector<ByteVector> plain;
  for (auto& [place, bytes] : shuffled) {
    chunks.push_back({place.first, place.second, std::nullopt});
    plain.push_back(std::move(bytes));
  }
  const auto assembly = tested.format->Assemble(kShard, std::move(chunks));
  auto shard = PutTogether(*assembly, *tested.format, plain);
  EXPECT_TRUE(shard) << tested.name << ": " << (shard ? "" : shard.error().message);
  return shard ? *std::move(shard) : ByteVector();
}

// All entries of a shard, each held against `content`.
Ranges ReadBack(const TestedFormat& tested, const Content& content, const ByteVector& shard) {
  Ranges ranges;
  std::set<std::uint64_t> pages;
  for (const Place& place : tested.places) pages.insert(place.first);
  for (const std::uint64_t page : pages) {
    const auto walked = WalkInMemory(*tested.format, shard, kShard, page);
    EXPECT_TRUE(walked) << tested.name << ": " << (walked ? "" : walked.error().message);
    if (!walked) continue;
    for (const IndexEntry& entry : walked->entries()) {
      const Place place{page, entry.slot};
      if (entry.damaged() || !content.contains(place)) {
        ADD_FAILURE() << tested.name << ": entry " << entry.slot << " of page " << page;
        continue;
      }
      const ByteSpan stored = ByteSpan(shard).subspan(entry.range.begin, entry.range.size);
      const auto plain =
          tested.format->DecodeEntry(Bytes(ByteVector(stored.begin(), stored.end())), 1 << 20);
      EXPECT_TRUE(plain && std::ranges::equal(plain->span(), content.at(place))) << tested.name;
      ranges[place] = entry.range;
    }
  }
  EXPECT_EQ(ranges.size(), content.size()) << tested.name;
  return ranges;
}

ByteVector RandomBytes(std::mt19937_64& random) {
  ByteVector bytes(random() % 3 == 0 ? 0 : random() % 200);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 4);
  return bytes;
}

Content RandomContent(const TestedFormat& tested, std::mt19937_64& random) {
  Content content;
  const std::uint64_t density = random() % 5;
  for (const Place& place : tested.places) {
    if (random() % 4 < density) content[place] = RandomBytes(random);
  }
  return content;
}

TEST(ShardAssembly, ReadersFindWhatWasAssembled) {
  for (const TestedFormat& tested : TestedFormats()) {
    std::mt19937_64 random(5);
    EXPECT_TRUE(tested.format->CanWrite()) << tested.name;
    for (int round = 0; round < 10; ++round) {
      const Content content = RandomContent(tested, random);
      const ByteVector shard = Assembled(tested, content, random);
      ReadBack(tested, content, shard);
      EXPECT_EQ(Assembled(tested, content, random), shard) << tested.name;
      if (content.empty()) {
        EXPECT_LE(shard.size(), tested.format->fixed_index_bytes() + 8);
      }
      const auto stored = tested.format->EncodeShard(Bytes(shard), kNoLimit);
      ASSERT_TRUE(stored) << tested.name << ": " << stored.error().message;
      const auto body = tested.format->DecodeShard(*stored, 1 << 20);
      ASSERT_TRUE(body) << tested.name;
      EXPECT_TRUE(std::ranges::equal(body->span(), shard)) << tested.name;
    }
  }
}

struct Edit {
  Content content;
  std::vector<std::uint64_t> changed_pages;
  std::set<Place> put;
};

Edit RandomEdit(const TestedFormat& tested, const Content& base, std::mt19937_64& random) {
  Edit edit{base, {}, {}};
  std::set<std::uint64_t> pages;
  const bool clear = random() % 6 == 0;  // also lets minishards lose all they have
  for (const Place& place : tested.places) {
    const bool removed = clear ? random() % 8 != 0 : random() % 20 == 0;
    if (removed && edit.content.erase(place) != 0) pages.insert(place.first);
    if (removed || random() % 10 != 0) continue;
    edit.content[place] = RandomBytes(random);
    edit.put.insert(place);
    pages.insert(place.first);
  }
  edit.changed_pages.assign(pages.begin(), pages.end());
  std::shuffle(edit.changed_pages.begin(), edit.changed_pages.end(), random);
  return edit;
}

// Appends an edit to `shard`, whose entries are `ranges`. Chunks of pages that do not change are
// given only in every other call.
ByteVector Appended(const TestedFormat& tested, const Edit& edit, const Ranges& ranges,
                    const ByteVector& shard, bool all) {
  std::vector<AssembledChunk> chunks;
  std::vector<ByteVector> plain;
  for (const auto& [place, bytes] : edit.content) {
    const bool changes = std::ranges::count(edit.changed_pages, place.first) != 0;
    const bool precomputed = tested.format->page_count() > 1;
    if (!changes && precomputed && !all) continue;
    std::optional<ByteRange> kept;
    if (!edit.put.contains(place)) kept = ranges.at(place);
    chunks.push_back({place.first, place.second, kept});
    plain.push_back(kept ? ByteVector{0xEE} : bytes);  // kept ones are never asked for
  }
  const auto assembly =
      tested.format->Append(kShard, std::move(chunks), edit.changed_pages, shard.size());
  EXPECT_NE(assembly, nullptr) << tested.name;
  if (!assembly) return {};
  auto appended = PutTogether(*assembly, *tested.format, plain, shard);
  EXPECT_TRUE(appended) << tested.name << ": " << (appended ? "" : appended.error().message);
  return appended ? *std::move(appended) : ByteVector();
}

TEST(ShardAssembly, AppendingKeepsTheOffsetsOfKeptChunks) {
  for (const TestedFormat& tested : TestedFormats()) {
    std::mt19937_64 random(6);
    Content content = RandomContent(tested, random);
    ByteVector shard = Assembled(tested, content, random);
    if (!tested.appends) {
      EXPECT_EQ(tested.format->Append(kShard, {}, {0}, shard.size()), nullptr) << tested.name;
      continue;
    }
    Ranges ranges = ReadBack(tested, content, shard);
    for (int round = 0; round < 60; ++round) {
      SCOPED_TRACE(tested.name + ", round " + std::to_string(round));
      Edit edit = RandomEdit(tested, content, random);
      const ByteVector appended = Appended(tested, edit, ranges, shard, round % 2 == 0);
      const Ranges now = ReadBack(tested, edit.content, appended);
      for (const auto& [place, range] : now) {
        if (!edit.put.contains(place)) {
          EXPECT_EQ(range, ranges.at(place));
        }
      }
      content = std::move(edit.content);
      shard = appended;
      ranges = now;
      if (HasFailure()) return;
    }
    // Garbage has gathered, but it does not matter to what a new layout looks like.
    const ByteVector anew = Assembled(tested, content, random);
    EXPECT_LE(anew.size(), shard.size()) << tested.name;
    ReadBack(tested, content, anew);
  }
}

TEST(ShardAssembly, AppendingNothingToZarrLeavesNoGarbage) {
  const auto format = ZarrFormat("[4]", "[" + Sharding("[1]", kCrcIndex) + "]");
  const ByteVector base = EncodeZarrShard(4, {{0, {1, 2}}, {2, ByteVector(40, 3)}});
  const auto kept =
      format->Append(0, {{0, 2, ByteRange{2, 40}}, {0, 0, ByteRange{0, 2}}}, {}, base.size());
  EXPECT_EQ(PutTogether(*kept, *format, {}, base), base);
  const auto shorter = format->Append(0, {{0, 0, ByteRange{0, 2}}}, {0}, base.size());
  EXPECT_EQ(PutTogether(*shorter, *format, {}, base), EncodeZarrShard(4, {{0, {1, 2}}}));
}

TEST(ShardAssembly, AppendingToPrecomputedTouchesOnlyWhatChanges) {
  const ShardingSpec spec{0, ChunkIdHash::kIdentity, 2, 0};
  const auto format = MakeNeuroglancerShardFormat(spec);
  const ByteVector base =
      EncodeNeuroglancerShard(spec, {{0, {1}}, {1, {2}}, {2, {3}}, {3, {4}}, {6, {5}}});
  // Minishard 1 gets chunk 5 beside chunk 1, minishard 3 loses its only one.
  const auto assembly =
      format->Append(0, {{1, 5, std::nullopt}, {1, 1, ByteRange{64 + 25, 1}}}, {3, 1}, base.size());
  const auto shard = PutTogether(*assembly, *format, {{7, 7}, {}}, base);
  ASSERT_TRUE(shard) << shard.error().message;
  ASSERT_EQ(shard->size(), base.size() + 2 + 48);
  for (std::size_t at = 0; at < base.size(); ++at) {
    const bool entry_of_1 = at >= 16 && at < 32;
    const bool entry_of_3 = at >= 48 && at < 64;
    if (!entry_of_1) {
      EXPECT_EQ((*shard)[at], entry_of_3 ? 0 : base[at]) << at;
    }
  }
  const auto page = WalkInMemory(*format, *shard, 0, 1);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->entries(), (std::vector<IndexEntry>{{1, {64 + 25, 1}}, {5, {base.size(), 2}}}));
  EXPECT_EQ(WalkInMemory(*format, *shard, 0, 2)->entries().size(), 2U);
  EXPECT_TRUE(WalkInMemory(*format, *shard, 0, 3)->entries().empty());
}

TEST(ShardAssembly, AMinishardThatGetsAChunkChangesWhetherNamedOrNot) {
  const auto format = MakeNeuroglancerShardFormat({0, ChunkIdHash::kIdentity, 2, 0});
  const ByteVector base(64);
  const auto shard = PutTogether(*format->Append(0, {{2, 6, std::nullopt}}, {}, base.size()),
                                 *format, {{9}}, base);
  ASSERT_TRUE(shard) << shard.error().message;
  EXPECT_EQ(WalkInMemory(*format, *shard, 0, 2)->Find(6), (ByteRange{64, 1}));
}

TEST(ShardAssembly, ChecksumsThatMayBeMissingAreWritten) {
  const auto format = ZarrFormat("[3]", "[" + Sharding("[1]") + "]");
  const auto shard = PutTogether(*format->Assemble(0, {{0, 1, std::nullopt}}), *format, {{4, 5}});
  ASSERT_TRUE(shard) << shard.error().message;
  EXPECT_EQ(*shard, EncodeZarrShard(3, {{1, {4, 5}}}));
}

TEST(ShardAssembly, NestedShardsAreShardsInShards) {
  const auto format = ZarrFormat(
      "[6]", "[" + Sharding("[2]", kCrcIndex, "[" + Sharding("[1]", kCrcIndex) + R"(,"crc32c"])") +
                 R"(,"numcodecs.adler32","crc32c"])");
  const auto with_crc32c = [](ByteVector bytes) {
    AppendU32Le(bytes, Crc32c(bytes));
    return bytes;
  };
  const ByteVector first = with_crc32c(EncodeZarrShard(2, {{1, {1, 2, 3}}}));
  const ByteVector third = with_crc32c(EncodeZarrShard(2, {{0, {4}}, {1, {5, 5}}}));
  const ByteVector body = EncodeZarrShard(3, {{0, first}, {2, third}});
  const auto adler32 = *BindBytesCodec("numcodecs.adler32");
  const ByteVector expected = with_crc32c(*adler32->Encode(body));
  const auto assembly =
      format->Assemble(0, {{2, 1, std::nullopt}, {2, 0, std::nullopt}, {0, 1, std::nullopt}});
  const auto shard = PutTogether(*assembly, *format, {{5, 5}, {4}, {1, 2, 3}});
  ASSERT_TRUE(shard) << shard.error().message;
  EXPECT_EQ(*shard, expected);
}

TEST(ShardAssembly, IndexesAreTransposedAndBigEndianAsTheyAreConfigured) {
  const auto format = ZarrFormat(
      "[2,3]",
      "[" +
          Sharding(
              "[1,1]",
              R"(,"index_codecs":[{"name":"transpose","configuration":{"order":[2,1,0]}},)"
              R"({"name":"bytes","configuration":{"endian":"big"}}],"index_location":"start")") +
          "]");
  std::vector<AssembledChunk> chunks;
  std::vector<ByteVector> plain;
  for (std::uint64_t slot = 0; slot < 5; ++slot) {
    chunks.push_back({0, slot, std::nullopt});
    plain.push_back(ByteVector(slot + 1, 0x55));
  }
  const auto shard = PutTogether(*format->Assemble(0, chunks), *format, plain);
  ASSERT_TRUE(shard) << shard.error().message;
  // Slot (i, j) = i * 3 + j stands at [k, j, i] of an array of shape [2, 3, 2]; the last is empty.
  ByteVector expected(12 * 8 + 15, 0x55);
  std::uint64_t offset = 96;
  for (std::uint64_t slot = 0; slot < 6; ++slot) {
    const std::uint64_t at = 8 * (slot % 3 * 2 + slot / 3);
    std::fill_n(expected.data() + at, 8, slot < 5 ? 0 : 0xFF);
    std::fill_n(expected.data() + at + 48, 8, slot < 5 ? 0 : 0xFF);
    if (slot == 5) break;
    expected[at + 7] = static_cast<std::uint8_t>(offset);
    expected[at + 48 + 7] = static_cast<std::uint8_t>(slot + 1);
    offset += slot + 1;
  }
  EXPECT_EQ(*shard, expected);
}

TEST(ShardAssembly, MeshEntriesBeginAfterTheirFragments) {
  const ShardingSpec spec{0, ChunkIdHash::kIdentity, 1, 0};
  const auto format = MakeNeuroglancerShardFormat(spec);
  const auto put = [](std::size_t number) -> Result<ChunkBytes> {
    const auto byte = static_cast<std::uint8_t>(number);
    return ChunkBytes{Bytes(ByteVector(5 + number, 0xF0 | byte)), Bytes(ByteVector(3, byte))};
  };
  const auto assembly = format->Assemble(0, {{0, 4, std::nullopt}, {1, 7, std::nullopt}});
  auto shard = AssembleInMemory(*assembly, put, kNoLimit);
  ASSERT_TRUE(shard) << shard.error().message;
  const auto range = WalkInMemory(*format, *shard, 0, 1)->Find(7);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->size, 3U);
  const ByteSpan around = ByteSpan(*shard).subspan(range->begin - 6, 9);
  EXPECT_EQ(ByteVector(around.begin(), around.end()),
            (ByteVector{0xF1, 0xF1, 0xF1, 0xF1, 0xF1, 0xF1, 1, 1, 1}));
  EXPECT_EQ(WalkInMemory(*format, *shard, 0, 0)->Find(4), (ByteRange{32 + 5, 3}));

  const std::uint64_t size = shard->size();
  const auto appending = format->Append(0, {{1, 7, range}, {1, 9, std::nullopt}}, {1}, size);
  const auto appended = AssembleInMemory(*appending, put, kNoLimit, *shard);
  ASSERT_TRUE(appended) << appended.error().message;
  EXPECT_EQ(WalkInMemory(*format, *appended, 0, 1)->Find(7), range);
  EXPECT_EQ(WalkInMemory(*format, *appended, 0, 1)->Find(9), (ByteRange{size + 6, 3}));
}

// Runs an assembly that puts nothing anywhere; the one chunk has these sizes.
Result<std::uint64_t> SizeWith(const ShardFormat& format, const PutChunk& put,
                               std::vector<AssembledChunk> chunks = {{0, 0, std::nullopt}}) {
  const auto assembly = format.Assemble(0, std::move(chunks));
  PutChunk last;
  for (;;) {
    UNSHARD_ASSIGN_OR_RETURN(const AssemblyStep step, assembly->Next(std::exchange(last, {})));
    if (step.kind == AssemblyStep::Kind::kDone) return step.at;
    if (step.kind == AssemblyStep::Kind::kChunk) last = put;
  }
}

TEST(ShardAssembly, GrowsUpToTheLargestShardAndNoFurther) {
  const auto precomputed = MakeNeuroglancerShardFormat(ShardingSpec{});
  const auto zarr = ZarrFormat("[2]", "[" + Sharding("[1]", kCrcIndex) + R"(,"crc32c"])");
  for (const auto& [format, overhead] :
       {std::pair<const ShardFormat*, std::uint64_t>{precomputed.get(), 16 + 24},
        {zarr.get(), 36 + 4}}) {
    const std::uint64_t most = kMaxShardBytes - overhead;
    EXPECT_EQ(SizeWith(*format, {0, most}).value_or(0), kMaxShardBytes);
    EXPECT_EQ(SizeWith(*format, {most - 1, 1}).value_or(0), kMaxShardBytes);
    for (const PutChunk& put : {PutChunk{0, most + 1}, PutChunk{1, most}, PutChunk{kNoLimit, 1},
                                PutChunk{1, kNoLimit}, PutChunk{kNoLimit, kNoLimit}}) {
      const auto size = SizeWith(*format, put);
      ASSERT_FALSE(size);
      EXPECT_EQ(size.error().code, ErrorCode::kResourceExhausted);
    }
  }
}

TEST(ShardAssembly, AHugeShardIndexIsNeverHeld) {
  const ShardingSpec spec{0, ChunkIdHash::kIdentity, 40, 0};
  const auto format = MakeNeuroglancerShardFormat(spec);
  const std::uint64_t last = (std::uint64_t{1} << 40) - 1;
  const auto assembly =
      format->Assemble(0, {{last, last, std::nullopt}, {3, 3, std::nullopt}, {9, 9, std::nullopt}});
  std::map<std::uint64_t, std::size_t> put;
  AssemblyStep step = *assembly->Next({});
  for (; step.kind != AssemblyStep::Kind::kDone; step = *assembly->Next({0, 10})) {
    if (step.kind == AssemblyStep::Kind::kBytes) put[step.at] = step.bytes.size();
  }
  const std::uint64_t index = format->fixed_index_bytes();
  EXPECT_EQ(index, std::uint64_t{16} << 40);
  EXPECT_EQ(put, (std::map<std::uint64_t, std::size_t>{{16 * 3, 16 * 7},
                                                       {16 * last, 16},
                                                       {index + 10, 24},
                                                       {index + 44, 24},
                                                       {index + 78, 24}}));
  EXPECT_EQ(step.at, index + 102);
}

ErrorCode CodeOf(const std::unique_ptr<ShardAssembly>& assembly) {
  const auto step = assembly->Next({});
  EXPECT_FALSE(step);
  return step ? ErrorCode::kNotFound : step.error().code;
}

TEST(ShardAssembly, RefusesChunksThatCannotBeItsOwn) {
  const auto precomputed =
      MakeNeuroglancerShardFormat({0, ChunkIdHash::kIdentity, 1, 1, ShardEncoding::kRaw});
  const auto zarr = ZarrFormat("[4]", "[" + Sharding("[1]", kCrcIndex + kAtStart) + "]");
  const auto none = std::nullopt;
  EXPECT_EQ(CodeOf(precomputed->Assemble(1, {{0, 4, none}})), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(precomputed->Assemble(0, {{1, 4, none}})), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(precomputed->Assemble(0, {{0, 4, none}, {0, 4, none}})), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(precomputed->Append(0, {}, {2}, 100)), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(zarr->Assemble(0, {{0, 4, none}})), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(zarr->Assemble(0, {{1, 0, none}})), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(zarr->Assemble(0, {{0, 0, ByteRange{0, 1}}})), ErrorCode::kInternal);
  for (const ByteRange& kept : {ByteRange{0, 40}, {90, 11}, {100, 1}, kDamagedRange}) {
    EXPECT_EQ(CodeOf(precomputed->Append(0, {{0, 4, kept}}, {0}, 100)), ErrorCode::kInternal);
    EXPECT_EQ(CodeOf(zarr->Append(0, {{0, 3, kept}}, {0}, 100)), ErrorCode::kInternal);
  }
  EXPECT_TRUE(precomputed->Append(0, {{0, 4, ByteRange{32, 68}}}, {0}, 100)->Next({}));
  EXPECT_TRUE(zarr->Append(0, {{0, 3, ByteRange{68, 32}}}, {0}, 100)->Next({}));
}

TEST(ShardAssembly, CannotAppendToABaseWithoutAnIndex) {
  const auto precomputed = MakeNeuroglancerShardFormat({0, ChunkIdHash::kIdentity, 3, 0});
  EXPECT_EQ(precomputed->Append(0, {}, {0}, 0), nullptr);
  EXPECT_EQ(precomputed->Append(0, {}, {0}, 127), nullptr);
  EXPECT_NE(precomputed->Append(0, {}, {0}, 128), nullptr);
  const auto zarr = ZarrFormat("[4]", "[" + Sharding("[1]", kCrcIndex) + "]");
  EXPECT_EQ(zarr->Append(0, {}, {0}, 67), nullptr);
  EXPECT_NE(zarr->Append(0, {}, {0}, 68), nullptr);
}

TEST(ShardAssembly, SaysWhyShardsCannotBeWritten) {
  const auto blosc = ZarrFormat("[4]", "[" + Sharding("[1]", kCrcIndex) +
                                           R"(,{"name":"blosc","configuration":{"cname":"no"}}])");
  ASSERT_FALSE(blosc->CanWrite());
  EXPECT_EQ(blosc->CanWrite().error().code, ErrorCode::kNotSupported);
  EXPECT_NE(blosc->CanWrite().error().message.find("blosc"), std::string::npos);
  EXPECT_EQ(blosc->EncodeShard(Bytes(ByteVector(9)), kNoLimit).error().code,
            ErrorCode::kNotSupported);
  const auto large = MakeNeuroglancerShardFormat({0, ChunkIdHash::kIdentity, 59, 0});
  ASSERT_FALSE(large->CanWrite());
  EXPECT_EQ(large->CanWrite().error().code, ErrorCode::kNotSupported);
}

TEST(ShardAssembly, BoundsWhatIsMadeInMemory) {
  const auto gzip = ZarrFormat("[4]", "[" + Sharding("[1]", kCrcIndex) + R"(,"gzip","crc32c"])");
  const auto stored = gzip->EncodeShard(Bytes(ByteVector(1000)), kNoLimit);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_TRUE(gzip->EncodeShard(Bytes(ByteVector(1000)), stored->size()));
  EXPECT_EQ(gzip->EncodeShard(Bytes(ByteVector(1000)), stored->size() - 1).error().code,
            ErrorCode::kResourceExhausted);
  const auto put = [](std::size_t) -> Result<ChunkBytes> {
    return ChunkBytes{{}, Bytes(ByteVector(10))};
  };
  const std::vector<AssembledChunk> chunks{{0, 1, std::nullopt}};
  EXPECT_TRUE(AssembleInMemory(*gzip->Assemble(0, chunks), put, 78));
  EXPECT_EQ(AssembleInMemory(*gzip->Assemble(0, chunks), put, 77).error().code,
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace unshard
