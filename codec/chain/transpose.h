// The order of bytes in items, and of items in a chunk. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chain/voxels.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/json/cursor.h"

namespace unshard {

// Reverses the bytes of each group of `group_size` bytes, in place. Requires: a multiple of it.
void ReverseBytes(std::span<std::uint8_t> bytes, std::uint32_t group_size);

// The voxels with their axes rearranged: dimension i of the result is axis order[i]. Fails with
// kInternal where `order` has another rank. Requires: a permutation.
Result<Voxels> Transpose(const Voxels& voxels, std::span<const std::size_t> order);

// 0, 1, 2, …: the order that changes nothing; and the order that reverses all axes.
std::vector<std::size_t> IdentityOrder(std::size_t rank);
std::vector<std::size_t> ReversedOrder(std::size_t rank);
// The order that reverses the effect of `order`.
std::vector<std::size_t> InverseOrder(std::span<const std::size_t> order);
// `values`, one for each axis, in the order of the rearranged axes. Where `values` is an order of
// axes: the order with the effect of `values` followed by `order`.
template <class T>
std::vector<T> Transposed(const std::vector<T>& values, std::span<const std::size_t> order) {
  std::vector<T> transposed;
  for (const std::size_t axis : order) transposed.push_back(values[axis]);
  return transposed;
}
// A permutation of `rank` axes. Fails with kDataLoss.
Result<std::vector<std::size_t>> ParseOrder(const JsonCursor& order, std::size_t rank);
// Whether `order` is IdentityOrder of its rank; true where it is empty.
bool IsIdentity(std::span<const std::size_t> order);

}  // namespace unshard
