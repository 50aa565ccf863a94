// Copying a box of items from one array to another. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace unshard {

// An axis of the box: how many items it has, and how many bytes lie between two of them.
struct StridedAxis {
  std::uint64_t extent = 0;
  std::uint64_t from_stride = 0;
  std::uint64_t to_stride = 0;
};

// Copies the items of a box, of `item_bytes` each, between arrays that do not overlap. `from` and
// `to`: its first item. `axes`: slowest first of the array `to`; none: one item.
void CopyStrided(const std::uint8_t* from, std::uint8_t* to, std::span<const StridedAxis> axes,
                 std::uint64_t item_bytes);

// The bytes between the items of an array in C order, for each axis, slowest first.
std::vector<std::uint64_t> StridesOf(std::span<const std::uint64_t> shape,
                                     std::uint64_t item_bytes);

}  // namespace unshard
