// One byte of parameters, the size of the object (u64), then the stored minishard index, which
// stands at the end of an object of that size. Objects may be far larger than memory.
#include "codec/precomputed/shard.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzMinishardIndex(ByteSpan input) {
  constexpr std::uint64_t kShardIndexSize = 16;
  constexpr std::uint64_t kMaxIndexBytes = 1 << 16;
  if (input.size() < 9) return;
  ShardingSpec spec;
  if ((input[0] & 1) != 0) spec.minishard_index_encoding = ShardEncoding::kGzip;
  const std::uint64_t object_size = LoadU64Le(input.data() + 1);
  const ByteSpan index = input.subspan(9);
  if (object_size < kShardIndexSize + index.size()) return;

  const auto walk = MakeNeuroglancerShardFormat(spec)->Walk(0, 0, kMaxIndexBytes);
  Require(walk->Start() == RangeRequest::At(0, kShardIndexSize), "the shard index is asked for");
  ByteVector entry;
  AppendU64Le(entry, object_size - kShardIndexSize - index.size());
  AppendU64Le(entry, object_size - kShardIndexSize);
  const auto asked = walk->Feed(entry, object_size);
  if (!asked || std::holds_alternative<IndexPage>(*asked)) return;
  Require(
      std::get<RangeRequest>(*asked) == RangeRequest::At(object_size - index.size(), index.size()),
      "the minishard index is asked for");
  const auto step = walk->Feed(index, object_size);
  if (!step) return;
  const IndexPage& page = std::get<IndexPage>(*step);
  Require(page.left_out() == 0, "with one minishard no id belongs elsewhere");
  for (const IndexEntry& chunk : page.entries()) {
    if (chunk.damaged()) continue;
    Require(chunk.range.begin >= kShardIndexSize, "chunks stand behind the shard index");
    Require(MakeByteRange(chunk.range.begin, chunk.range.size, object_size).has_value(),
            "chunks lie within the object");
  }
}

}  // namespace unshard
