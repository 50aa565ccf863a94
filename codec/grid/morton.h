// The compressed Morton code: grid cell to chunk id, for any rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

// kStandard takes bit i of a dimension while 2^i < grid size, as the specification says; kLegacy
// while 2^i <= grid size, as CloudVolume and igneous did before mid-June 2021 (igneous issue 100).
enum class MortonRule { kStandard, kLegacy };

// The code of one grid. Immutable; thread-safe.
class CompressedMorton {
 public:
  // Fails with kDataLoss where the code would need more than 64 bits.
  static Result<CompressedMorton> Make(std::span<const std::uint64_t> grid_shape,
                                       MortonRule rule = MortonRule::kStandard);

  // Requires: a cell of the grid's rank, within the grid.
  [[nodiscard]] std::uint64_t Encode(std::span<const std::uint64_t> cell) const;
  // Sets `cell`, of the grid's rank, to the cell of a code; false where that is outside the grid.
  [[nodiscard]] bool Decode(std::uint64_t code, std::span<std::uint64_t> cell) const;
  [[nodiscard]] unsigned total_bits() const { return total_bits_; }
  [[nodiscard]] const std::vector<std::uint64_t>& grid_shape() const { return grid_shape_; }

 private:
  std::vector<std::uint64_t> grid_shape_;
  std::vector<unsigned> bits_;
  unsigned total_bits_ = 0;
};

}  // namespace unshard
