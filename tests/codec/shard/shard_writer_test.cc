#include "tests/support/shard_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "codec/core/crc32c.h"
#include "tests/support/hex.h"
#include "tests/support/index_walking.h"

namespace unshard {
namespace {

// The bytes that two hexadecimal digits each stand for; blanks are skipped.
using Chunks = std::map<std::uint64_t, ByteVector>;

// All chunks of a page, through the walk that readers use.
Chunks ReadPage(const ShardingSpec& spec, const ByteVector& object, std::uint64_t shard,
                std::uint64_t page) {
  const auto format = MakeNeuroglancerShardFormat(spec);
  const auto index = WalkInMemory(*format, object, shard, page);
  Chunks chunks;
  EXPECT_TRUE(index) << (index ? "" : index.error().message);
  if (!index) return chunks;
  for (const IndexEntry& entry : index->entries()) {
    const ByteSpan stored = ByteSpan(object).subspan(entry.range.begin, entry.range.size);
    const auto plain =
        format->DecodeEntry(Bytes(ByteVector(stored.begin(), stored.end())), 1 << 20);
    EXPECT_TRUE(plain);
    if (plain) chunks[entry.slot] = ByteVector(plain->span().begin(), plain->span().end());
  }
  return chunks;
}

TEST(ShardWriter, PrecomputedShardMatchesTheReferenceVector) {
  ShardingSpec spec;
  spec.minishard_bits = 1;
  const ByteVector expected = FromHex(
      "0700000000000000 3700000000000000 3900000000000000 5100000000000000 01020304 060708"
      "0200000000000000 0600000000000000 0000000000000000 0000000000000000 0400000000000000"
      "0300000000000000 090a 0300000000000000 3700000000000000 0200000000000000");
  ASSERT_EQ(expected.size(), 113U);
  EXPECT_EQ(EncodeNeuroglancerShard(spec, {{3, {9, 10}}, {8, {6, 7, 8}}, {2, {1, 2, 3, 4}}}),
            expected);
}

TEST(ShardWriter, PrecomputedShardsReadBackUnderEveryEncodingAndHash) {
  std::mt19937_64 random(1);
  for (const ChunkIdHash hash : {ChunkIdHash::kIdentity, ChunkIdHash::kMurmurHash3X86_128}) {
    for (const ShardEncoding index : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
      for (const ShardEncoding data : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
        const ShardingSpec spec{2, hash, 3, 2, index, data};
        std::map<std::uint64_t, Chunks> pages;
        std::vector<ShardChunk> chunks;
        while (chunks.size() < 100) {
          const std::uint64_t id = random() >> random() % 64;
          const ShardSlot slot = LocateChunkId(spec, id);
          if (slot.shard != 1 || pages[slot.page].contains(id)) continue;
          const ByteVector plain(random() % 300, static_cast<std::uint8_t>(id));
          pages[slot.page][id] = plain;
          chunks.push_back({id, plain});
        }
        const ByteVector shard = EncodeNeuroglancerShard(spec, chunks);
        for (std::uint64_t page = 0; page < 8; ++page) {
          EXPECT_EQ(ReadPage(spec, shard, 1, page), pages[page]);
        }
      }
    }
  }
}

TEST(ShardWriter, PrecomputedShardWithoutChunksIsAnEmptyIndex) {
  ShardingSpec spec;
  spec.minishard_bits = 2;
  EXPECT_EQ(EncodeNeuroglancerShard(spec, {}), ByteVector(64, 0));
}

// One statement a draw: compilers evaluate arguments in orders of their own.
ByteVector RandomRun(std::mt19937_64& random) {
  const auto value = static_cast<std::uint8_t>(random());
  return ByteVector(random() % 200, value);
}

// Recorded from encoders that had layouts of their own, before they ran assemblies. The bytes of
// gzip are those of its library.
TEST(ShardWriter, LayoutsNeverChange) {
  std::mt19937_64 random(7);
  std::vector<std::uint32_t> found;
  for (const ShardEncoding index : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    for (const ShardEncoding data : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
      const ShardingSpec spec{1, ChunkIdHash::kMurmurHash3X86_128, 9, 1, index, data};
      std::vector<ShardChunk> chunks;
      for (std::uint64_t id = 0; chunks.size() < 150; id += 1 + random() % 1000) {
        if (LocateChunkId(spec, id).shard != 1) continue;
        chunks.push_back({id, RandomRun(random)});
      }
      const bool is_raw = index == ShardEncoding::kRaw && data == ShardEncoding::kRaw;
      if (is_raw) found.push_back(Crc32c(EncodeNeuroglancerShard(spec, std::move(chunks))));
    }
  }
  std::vector<ShardChunk> chunks;
  for (std::uint64_t slot = 511; slot < 512; slot -= 1 + random() % 5) {
    chunks.push_back({slot, RandomRun(random)});
  }
  found.push_back(Crc32c(EncodeZarrShard(512, chunks)));
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0x0d7d8e52, 0xa718b60a}));
}

// With the recorded layout this holds the place of each chunk, whatever its library makes of it.
TEST(ShardWriter, ChunksHaveOneOrderUnderEveryEncoding) {
  std::vector<std::vector<std::uint64_t>> orders;
  for (const ShardEncoding index : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    for (const ShardEncoding data : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
      const ShardingSpec spec{1, ChunkIdHash::kMurmurHash3X86_128, 3, 1, index, data};
      std::vector<ShardChunk> chunks;
      for (std::uint64_t id = 0; chunks.size() < 150; id += 7) {
        if (LocateChunkId(spec, id).shard == 1) chunks.push_back({id, ByteVector(20 + id % 99, 1)});
      }
      const ByteVector shard = EncodeNeuroglancerShard(spec, std::move(chunks));
      std::map<std::uint64_t, std::uint64_t> id_at;
      for (std::uint64_t page = 0; page < 8; ++page) {
        const auto walked = WalkInMemory(*MakeNeuroglancerShardFormat(spec), shard, 1, page);
        ASSERT_TRUE(walked);
        for (const IndexEntry& entry : walked->entries()) id_at[entry.range.begin] = entry.slot;
      }
      std::vector<std::uint64_t>& order = orders.emplace_back();
      for (const auto& [begin, id] : id_at) order.push_back(id);
      EXPECT_EQ(order.size(), 150U);
      EXPECT_EQ(order, orders.front());
    }
  }
}

TEST(ShardWriter, ZarrIndexMatchesTheReferenceVector) {
  const ByteVector first(10, 0xAA);
  const ByteVector second(7, 0xBB);
  ByteVector expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  const ByteVector index = FromHex(
      "0000000000000000 0a00000000000000 ffffffffffffffff ffffffffffffffff"
      "0a00000000000000 0700000000000000 ffffffffffffffff ffffffffffffffff f4d59b2b");
  expected.insert(expected.end(), index.begin(), index.end());
  EXPECT_EQ(EncodeZarrShard(4, {{0, first}, {2, second}}), expected);
  EXPECT_EQ(EncodeZarrShard(4, {{2, second}, {0, first}}), expected);
}

TEST(ShardWriter, ZarrShardWithoutChunksIsAnIndexOfEmptySlots) {
  const ByteVector shard = EncodeZarrShard(3, {});
  ASSERT_EQ(shard.size(), 52U);
  EXPECT_EQ(ByteVector(shard.begin(), shard.begin() + 48), ByteVector(48, 0xFF));
  EXPECT_EQ(LoadU32Le(shard.data() + 48), Crc32c(ByteVector(48, 0xFF)));
}

}  // namespace
}  // namespace unshard
