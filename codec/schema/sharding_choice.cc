#include "codec/schema/sharding_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace unshard {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr unsigned kMaxPreshiftBits = 9;

using Bits3 = std::array<unsigned, 3>;

// The bits of a chunk id that tell positions along each dimension apart (the compressed Morton
// code).
Bits3 MortonBits(const Extents3& volume, const Extents3& chunk) {
  Bits3 bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::int64_t last = std::max<std::int64_t>(0, ChunksAlong(volume[i], chunk[i]) - 1);
    bits[i] = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(last)));
  }
  return bits;
}

unsigned Sum(const Bits3& bits) { return bits[0] + bits[1] + bits[2]; }

// Gives one bit to x, y and z in turn, as the Morton code does.
class BitsInTurn {
 public:
  explicit BitsInTurn(const Bits3& most) : most_(most) {}

  // Requires: not all bits are given.
  void Next() {
    while (bits_[next_] == most_[next_]) next_ = (next_ + 1) % bits_.size();
    ++bits_[next_];
    next_ = (next_ + 1) % bits_.size();
  }
  [[nodiscard]] const Bits3& bits() const { return bits_; }

 private:
  Bits3 most_;
  Bits3 bits_{};
  std::size_t next_ = 0;
};

// chunk · 2^bits, which is below 2^63 for every extent of a volume.
double ExtentOf(std::int64_t chunk, unsigned bits) {
  return std::ldexp(static_cast<double>(chunk), static_cast<int>(bits));
}

// How far shards of chunk · 2^bits are from the wanted shape.
double Cost(const Constraints<std::int64_t>& wanted, const Extents3& chunk, const Bits3& bits,
            const Bits3& most) {
  double cost = 0;
  for (std::size_t i = 0; i < bits.size() && i < wanted.size(); ++i) {
    if (!wanted[i].value) continue;
    const bool whole = *wanted[i].value == -1;
    const double extent = ExtentOf(chunk[i], bits[i]);
    const double target =
        whole ? ExtentOf(chunk[i], most[i]) : static_cast<double>(*wanted[i].value);
    if (wanted[i].hard() && extent != target) return kImpossible;
    cost += std::abs(extent - target) / target;
  }
  return cost;
}

// The number of bits whose shards have the nearest number of elements.
unsigned WantedBits(const Constraint<std::int64_t>& elements, const Extents3& chunk,
                    unsigned most) {
  if (!elements.value) return 0;
  double chunk_elements = 1;
  for (const std::int64_t extent : chunk) chunk_elements *= static_cast<double>(extent);
  if (chunk_elements > static_cast<double>(std::int64_t{1} << 61)) return 0;
  const auto per_chunk = static_cast<std::int64_t>(chunk_elements);
  const std::int64_t chunks = (*elements.value + per_chunk / 2) / per_chunk;
  unsigned bits = 0;
  while (bits < most && bits < 62 && (std::int64_t{1} << bits) < chunks) ++bits;
  if (bits > 0 && (std::int64_t{1} << bits) - chunks > chunks - (std::int64_t{1} << (bits - 1))) {
    --bits;
  }
  return bits;
}

}  // namespace

unsigned ChunkIdBits(const Extents3& volume, const Extents3& chunk) {
  return Sum(MortonBits(volume, chunk));
}

Result<ShardingSpec> ChooseSharding(const ChunkShapeConstraints& write_chunk,
                                    const Extents3& volume, const Extents3& chunk) {
  const Bits3 most = MortonBits(volume, chunk);
  const unsigned wanted = WantedBits(write_chunk.elements, chunk, Sum(most));
  BitsInTurn turn(most);
  unsigned best = 0;
  double best_cost = Cost(write_chunk.shape, chunk, turn.bits(), most);
  for (unsigned total = 1; total <= Sum(most); ++total) {
    turn.Next();
    const double cost = Cost(write_chunk.shape, chunk, turn.bits(), most);
    if (cost < best_cost || (cost == best_cost && total <= wanted)) {
      best_cost = cost;
      best = total;
    }
  }
  if (best_cost == kImpossible) {
    return Fail(ErrorCode::kInvalidArgument,
                "chunk_layout.write_chunk.shape: no shard can have this shape, because shards "
                "double along x, y and z in turn: make it a soft constraint");
  }
  ShardingSpec spec;
  spec.preshift_bits = std::min(best, kMaxPreshiftBits);
  spec.minishard_bits = best - spec.preshift_bits;
  spec.shard_bits = Sum(most) - best;
  spec.minishard_index_encoding = ShardEncoding::kGzip;
  return spec;
}

std::optional<Extents3> ShardShapeInChunks(const ShardingSpec& sharding, const Extents3& volume,
                                           const Extents3& chunk) {
  if (sharding.hash != ChunkIdHash::kIdentity) return std::nullopt;
  const Bits3 most = MortonBits(volume, chunk);
  const unsigned in_shard = std::min(sharding.preshift_bits + sharding.minishard_bits, Sum(most));
  if (Sum(most) > sharding.preshift_bits + sharding.minishard_bits + sharding.shard_bits) {
    return std::nullopt;
  }
  BitsInTurn turn(most);
  for (unsigned i = 0; i < in_shard; ++i) turn.Next();
  Extents3 shape{};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = std::min(ChunksAlong(volume[i], chunk[i]),
                        static_cast<std::int64_t>(std::uint64_t{1} << turn.bits()[i]));
  }
  return shape;
}

}  // namespace unshard
