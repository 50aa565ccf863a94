#include "codec/grid/morton.h"

#include <algorithm>
#include <bit>

namespace unshard {
namespace {

// The number of bits in the code of a dimension with `extent` cells.
unsigned BitsOf(std::uint64_t extent, MortonRule rule) {
  if (rule == MortonRule::kLegacy) return static_cast<unsigned>(std::bit_width(extent));
  return extent <= 1 ? 0 : static_cast<unsigned>(std::bit_width(extent - 1));
}

}  // namespace

Result<CompressedMorton> CompressedMorton::Make(std::span<const std::uint64_t> grid_shape,
                                                MortonRule rule) {
  constexpr unsigned kMaxBits = 64;
  CompressedMorton morton;
  morton.grid_shape_.assign(grid_shape.begin(), grid_shape.end());
  for (const std::uint64_t extent : grid_shape) {
    morton.bits_.push_back(BitsOf(extent, rule));
    morton.total_bits_ += morton.bits_.back();
    if (morton.total_bits_ > kMaxBits) {
      return Fail(ErrorCode::kDataLoss,
                  "compressed Morton code: the ids of this chunk grid need more than 64 bits");
    }
  }
  return morton;
}

std::uint64_t CompressedMorton::Encode(std::span<const std::uint64_t> cell) const {
  std::uint64_t code = 0;
  unsigned out = 0;
  for (unsigned bit = 0; out < total_bits_; ++bit) {
    for (std::size_t d = 0; d < bits_.size(); ++d) {
      if (bit < bits_[d]) code |= (cell[d] >> bit & 1) << out++;
    }
  }
  return code;
}

bool CompressedMorton::Decode(std::uint64_t code, std::span<std::uint64_t> cell) const {
  if (total_bits_ < 64 && code >> total_bits_ != 0) return false;
  std::fill(cell.begin(), cell.end(), 0);
  unsigned in = 0;
  for (unsigned bit = 0; in < total_bits_; ++bit) {
    for (std::size_t d = 0; d < bits_.size(); ++d) {
      if (bit < bits_[d]) cell[d] |= (code >> in++ & 1) << bit;
    }
  }
  return std::equal(cell.begin(), cell.end(), grid_shape_.begin(), grid_shape_.end(),
                    [](std::uint64_t at, std::uint64_t extent) { return at < extent; });
}

}  // namespace unshard
