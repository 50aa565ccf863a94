// The crack code of one slice of a crackle chunk: the lines between its components. Pure.
//
// A slice of sx × sy voxels has (sx + 1) × (sy + 1) corners. A crack code has
//   4 bytes        size of the index
//   the index      number of rows; for each row: y less that of the row before, a count, and as
//   many
//                  x, each less the one before: the corners where chains begin, in their order
//   the moves      2 bits each, lowest first: up, right, down, left, as the difference modulo 4 to
//                  the move before; or, with a Markov model, codes of 1 to 3 bits
//
// Decoding:
// 1. A chain begins at the next corner, with one open branch.
// 2. A move draws the edge to the next corner, unless the move after it leads back: then both
//    together are a mark. If the second one goes up or left, a branch ends, and the walk goes on
//    at the corner where the latest branch that is open began. Else a branch begins.
// 3. The chain ends with its last branch, and the next one begins in the next bits.
// 4. A drawn edge separates two voxels, and all other neighbours are connected; in permissible
//    codes it connects them, and all others are separate.
// 5. Components are numbered from 0 by their first voxels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// The size of an integer that counts to `most`.
constexpr std::uint64_t CrackleWidth(std::uint64_t most) {
  return most <= 0xff ? 1 : most <= 0xffff ? 2 : most <= 0xffffffff ? 4 : 8;
}

// How the moves of all slices are stored. Immutable; thread-safe.
class CrackleModel {
 public:
  CrackleModel() = default;  // 2 bits a move
  // A Markov model of an order from 1 to 15 in its ByteSize bytes. For each row of 5 bits, the rank
  // of a permutation: which moves follow the last `order` ones, the most frequent first.
  CrackleModel(unsigned order, ByteSpan rows);
  static std::uint64_t ByteSize(unsigned order) {
    return order == 0 ? 0 : ((std::uint64_t{5} << (2 * order)) + 7) / 8;
  }

  [[nodiscard]] unsigned order() const { return order_; }
  // The move at `rank` in a row.
  [[nodiscard]] unsigned Move(std::uint64_t row, unsigned rank) const;

 private:
  unsigned order_ = 0;
  std::vector<std::uint8_t> permutations_;  // the rank of each row's
};

// The extents, and what is the same in all slices.
struct CrackleForm {
  std::uint64_t sx = 0, sy = 0;
  bool is_permissible = false;
  CrackleModel model;
};

// The number of the component of each voxel, x fastest, and how many there are. Fails with
// kDataLoss.
struct CrackleComponents {
  std::vector<std::uint32_t> numbers;
  std::uint64_t count = 0;
};
Result<CrackleComponents> DecodeCrackleSlice(const CrackleForm& form, ByteSpan code);

}  // namespace unshard
