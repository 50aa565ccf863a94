#include "codec/shard_writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "codec/crc32c.h"
#include "codec/gzip.h"

namespace unshard {
namespace {

constexpr int kGzipLevel = 9;  // as TensorStore writes

ByteVector Encoded(ByteVector plain, ShardEncoding encoding) {
  return encoding == ShardEncoding::kGzip ? GzipEncode(plain, kGzipLevel) : plain;
}

void Append(ByteVector& to, ByteSpan bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// Appends the chunks of one minishard and then its index; returns the range of the index.
ByteRange AppendMinishard(const ShardingSpec& spec, std::span<ShardChunk> chunks,
                          std::uint64_t index_size, ByteVector& shard) {
  const std::size_t count = chunks.size();
  ByteVector rows(24 * count);
  std::uint64_t previous_id = 0;
  std::uint64_t previous_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ByteVector stored = Encoded(std::move(chunks[i].plain), spec.data_encoding);
    const std::uint64_t start = shard.size() - index_size;
    StoreU64Le(rows.data() + 8 * i, chunks[i].slot - previous_id);
    StoreU64Le(rows.data() + 8 * (count + i), start - previous_end);
    StoreU64Le(rows.data() + 8 * (2 * count + i), stored.size());
    previous_id = chunks[i].slot;
    previous_end = start + stored.size();
    Append(shard, stored);
  }
  const ByteVector index = Encoded(std::move(rows), spec.minishard_index_encoding);
  const ByteRange range{shard.size() - index_size, index.size()};
  Append(shard, index);
  return range;
}

}  // namespace

ByteVector EncodeNeuroglancerShard(const ShardingSpec& spec, std::vector<ShardChunk> chunks) {
  const auto minishard = [&](const ShardChunk& chunk) {
    return LocateChunkId(spec, chunk.slot).page;
  };
  std::sort(chunks.begin(), chunks.end(), [&](const ShardChunk& a, const ShardChunk& b) {
    return std::pair(minishard(a), a.slot) < std::pair(minishard(b), b.slot);
  });
  const std::uint64_t index_size = std::uint64_t{16} << spec.minishard_bits;
  ByteVector shard(index_size);  // entries of empty minishards stay 0, 0
  for (auto begin = chunks.begin(); begin != chunks.end();) {
    const std::uint64_t page = minishard(*begin);
    const auto end = std::find_if(
        begin, chunks.end(), [&](const ShardChunk& chunk) { return minishard(chunk) != page; });
    const ByteRange index = AppendMinishard(spec, std::span(begin, end), index_size, shard);
    StoreU64Le(shard.data() + 16 * page, index.begin);
    StoreU64Le(shard.data() + 16 * page + 8, index.end());
    begin = end;
  }
  return shard;
}

ByteVector EncodeZarrShard(std::uint64_t slot_count, const std::vector<ShardChunk>& chunks) {
  std::vector<const ShardChunk*> in_order;
  in_order.reserve(chunks.size());
  for (const ShardChunk& chunk : chunks) in_order.push_back(&chunk);
  std::sort(in_order.begin(), in_order.end(),
            [](const ShardChunk* a, const ShardChunk* b) { return a->slot < b->slot; });
  ByteVector shard;
  ByteVector index(16 * slot_count, 0xFF);  // 2^64 - 1 twice: an empty slot
  for (const ShardChunk* chunk : in_order) {
    StoreU64Le(index.data() + 16 * chunk->slot, shard.size());
    StoreU64Le(index.data() + 16 * chunk->slot + 8, chunk->plain.size());
    Append(shard, chunk->plain);
  }
  AppendU32Le(index, Crc32c(index));
  Append(shard, index);
  return shard;
}

}  // namespace unshard
