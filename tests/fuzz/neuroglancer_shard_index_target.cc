// Five bytes of parameters, then a whole shard object that is walked as a store would.

#include "codec/precomputed/shard.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/index_walking.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxIndexBytes = 1 << 16;

ShardingSpec SpecFrom(ByteSpan parameters) {
  ShardingSpec spec;
  spec.preshift_bits = parameters[0] % 65U;
  spec.minishard_bits = parameters[1] % 65U;
  spec.shard_bits = parameters[2] % (65U - spec.minishard_bits);
  if ((parameters[3] & 1) != 0) spec.hash = ChunkIdHash::kMurmurHash3X86_128;
  if ((parameters[3] & 2) != 0) spec.minishard_index_encoding = ShardEncoding::kGzip;
  if ((parameters[3] & 4) != 0) spec.data_encoding = ShardEncoding::kGzip;
  return spec;
}

void CheckPage(const ShardingSpec& spec, const IndexPage& page, ByteSpan object,
               const ShardSlot& at) {
  const auto format = MakeNeuroglancerShardFormat(spec);
  Require(page.entries().size() * 24 <= kMaxIndexBytes, "pages are bounded");
  std::size_t decoded = 0;
  for (const IndexEntry& entry : page.entries()) {
    Require(LocateChunkId(spec, entry.slot) == ShardSlot{at.shard, at.page, entry.slot},
            "ids belong to the page");
    Require(page.Find(entry.slot) == entry.range, "entries are found");
    if (entry.damaged()) continue;
    Require(MakeByteRange(entry.range.begin, entry.range.size, object.size()).has_value(),
            "ranges lie within the object");
    if (++decoded > 8) continue;
    const ByteSpan stored = object.subspan(entry.range.begin, entry.range.size);
    const auto plain = format->DecodeEntry(Bytes(ByteVector(stored.begin(), stored.end())), 4096);
    Require(!plain || plain->size() <= 4096, "decoded entries are bounded");
  }
}

}  // namespace

void FuzzNeuroglancerShardIndex(ByteSpan input) {
  if (input.size() < 5) return;
  const ShardingSpec spec = SpecFrom(input);
  // The page of some chunk id, so that hashed ids have a chance to be visible.
  const ShardSlot at = LocateChunkId(spec, input[4]);
  const ByteSpan object = input.subspan(5);
  const auto page =
      WalkInMemory(*MakeNeuroglancerShardFormat(spec), object, at.shard, at.page, kMaxIndexBytes);
  if (page) {
    CheckPage(spec, *page, object, at);
  } else {
    Require(page.error().code == ErrorCode::kDataLoss ||
                page.error().code == ErrorCode::kResourceExhausted,
            "refusals are data loss or a limit");
  }
}

}  // namespace unshard
