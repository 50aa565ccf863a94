#include "tests/support/shard_writer.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "codec/zarr3/shard.h"

namespace unshard {
namespace {

// A shard that is put together piece by piece.
class Target {
 public:
  Target(ByteVector base, std::uint64_t max_bytes)
      : bytes_(std::move(base)), max_bytes_(max_bytes) {}

  Status Put(std::uint64_t at, ByteSpan bytes) {
    const auto range = MakeByteRange(at, bytes.size(), max_bytes_);
    if (!range) return TooLarge();
    if (range->end() > bytes_.size()) bytes_.resize(range->end());
    std::copy(bytes.begin(), bytes.end(), bytes_.data() + at);
    return {};
  }
  [[nodiscard]] ByteVector DigestOf(const ByteRange& range, BytesDigest& digest) const {
    digest.Update(ByteSpan(bytes_).subspan(range.begin, range.size));
    return digest.Finish();
  }
  Result<ByteVector> Finish(std::uint64_t size) {
    if (size > max_bytes_) return TooLarge();
    bytes_.resize(size);
    return std::move(bytes_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> TooLarge() const {
    return Fail(ErrorCode::kResourceExhausted,
                "the shard takes more than " + std::to_string(max_bytes_) + " bytes");
  }

  ByteVector bytes_;
  const std::uint64_t max_bytes_;
};

// The format of EncodeZarrShard.
Result<std::shared_ptr<const ShardFormat>> OneDimensionalFormat(std::uint64_t slot_count) {
  ShardLevel level;
  level.axes = {0};
  level.chunk_shape = {1};
  level.grid_shape = {slot_count};
  level.chunk_count = slot_count;
  level.index_chain = NewIndexChain(1);
  std::vector<ShardLevel> levels;
  levels.push_back(std::move(level));
  return MakeZarrShardFormat(std::move(levels), {});
}

ByteVector Encode(const ShardFormat& format, std::uint64_t shard,
                  std::vector<AssembledChunk> places, const std::vector<ShardChunk>& chunks) {
  const auto assembly = format.Assemble(shard, std::move(places));
  const auto stored = [&](std::size_t number) -> Result<ChunkBytes> {
    UNSHARD_ASSIGN_OR_RETURN(Bytes entry, format.EncodeEntry(Bytes(chunks[number].plain)));
    return ChunkBytes{{}, std::move(entry)};
  };
  // Nothing but a broken requirement fails here; memory ends long before the limit.
  return AssembleInMemory(*assembly, stored, std::numeric_limits<std::uint64_t>::max()).value();
}

}  // namespace

Result<ByteVector> AssembleInMemory(ShardAssembly& assembly,
                                    const std::function<Result<ChunkBytes>(std::size_t)>& chunk,
                                    std::uint64_t max_bytes, ByteVector base) {
  Target target(std::move(base), max_bytes);
  PutChunk put;
  for (;;) {
    UNSHARD_ASSIGN_OR_RETURN(const AssemblyStep step, assembly.Next(std::exchange(put, {})));
    switch (step.kind) {
      case AssemblyStep::Kind::kChunk: {
        UNSHARD_ASSIGN_OR_RETURN(const ChunkBytes bytes, chunk(step.chunk));
        put = {bytes.leading.size(), bytes.stored.size()};
        UNSHARD_RETURN_IF_ERROR(target.Put(step.at, bytes.leading.span()));
        UNSHARD_RETURN_IF_ERROR(target.Put(step.at + put.leading, bytes.stored.span()));
        break;
      }
      case AssemblyStep::Kind::kBytes:
        UNSHARD_RETURN_IF_ERROR(target.Put(step.at, step.bytes));
        break;
      case AssemblyStep::Kind::kChecksum:
        UNSHARD_RETURN_IF_ERROR(target.Put(step.at, target.DigestOf(step.covered, *step.digest)));
        break;
      case AssemblyStep::Kind::kDone:
        return target.Finish(step.at);
    }
  }
}

ByteVector EncodeNeuroglancerShard(const ShardingSpec& spec, std::vector<ShardChunk> chunks) {
  std::uint64_t shard = 0;
  std::vector<AssembledChunk> places;
  for (const ShardChunk& chunk : chunks) {
    const ShardSlot slot = LocateChunkId(spec, chunk.slot);
    shard = slot.shard;
    places.push_back({slot.page, slot.slot, std::nullopt});
  }
  return Encode(*MakeNeuroglancerShardFormat(spec), shard, std::move(places), chunks);
}

ByteVector EncodeZarrShard(std::uint64_t slot_count, const std::vector<ShardChunk>& chunks) {
  std::vector<AssembledChunk> places;
  for (const ShardChunk& chunk : chunks) places.push_back({0, chunk.slot, std::nullopt});
  return Encode(*OneDimensionalFormat(slot_count).value(), 0, std::move(places), chunks);
}

}  // namespace unshard
