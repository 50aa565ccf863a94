#include "codec/chain/transpose.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

namespace unshard {
namespace {

template <std::size_t size>
void ReverseGroups(std::span<std::uint8_t> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::reverse(bytes.data() + at, bytes.data() + at + size);
  }
}

// One dimension of the result: its extent, and its strides in the source and in the result, in
// items.
struct Dimension {
  std::size_t extent;
  std::size_t from;
  std::size_t to;
};

// The dimensions of the result, without those of extent 1. Adjacent dimensions that are one run of
// items in both arrays are merged.
std::vector<Dimension> DimensionsOf(std::span<const std::uint64_t> shape,
                                    std::span<const std::size_t> order) {
  std::vector<std::size_t> from(shape.size());
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) from[axis] = stride;
  std::vector<Dimension> dimensions;  // the fastest first
  stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const Dimension next{static_cast<std::size_t>(shape[order[i]]), from[order[i]], stride};
    stride *= next.extent;
    if (next.extent == 1) continue;
    if (!dimensions.empty() && dimensions.back().from * dimensions.back().extent == next.from) {
      dimensions.back().extent *= next.extent;
    } else {
      dimensions.push_back(next);
    }
  }
  return dimensions;
}

// Copies a plane in tiles, so that all items of a cache line are copied while it is cached, on both
// sides.
template <class CopyItem>
void CopyPlane(std::size_t from, std::size_t to, const Dimension& a, const Dimension& b,
               const CopyItem& copy) {
  constexpr std::size_t kTile = 32;
  for (std::size_t a0 = 0; a0 < a.extent; a0 += kTile) {
    const std::size_t a1 = std::min(a0 + kTile, a.extent);
    for (std::size_t b0 = 0; b0 < b.extent; b0 += kTile) {
      const std::size_t b1 = std::min(b0 + kTile, b.extent);
      for (std::size_t i = a0; i < a1; ++i) {
        for (std::size_t j = b0; j < b1; ++j) {
          copy(from + i * a.from + j * b.from, to + i * a.to + j * b.to);
        }
      }
    }
  }
}

template <class CopyItem>
void CopyAll(std::vector<Dimension> dimensions, const CopyItem& copy) {
  // Planes of two dimensions, the fastest one of the result and that of the source, for each
  // position along the others.
  while (dimensions.size() < 2) dimensions.push_back({1, 0, 0});
  const Dimension fastest = dimensions.front();
  dimensions.erase(dimensions.begin());
  const auto near = std::min_element(
      dimensions.begin(), dimensions.end(),
      [](const Dimension& one, const Dimension& other) { return one.from < other.from; });
  const Dimension second = *near;
  dimensions.erase(near);
  std::vector<std::size_t> position(dimensions.size(), 0);
  std::size_t from = 0;
  std::size_t to = 0;
  for (;;) {
    CopyPlane(from, to, second, fastest, copy);
    std::size_t d = 0;
    for (; d < dimensions.size(); ++d) {
      from += dimensions[d].from;
      to += dimensions[d].to;
      if (++position[d] < dimensions[d].extent) break;
      from -= dimensions[d].extent * dimensions[d].from;
      to -= dimensions[d].extent * dimensions[d].to;
      position[d] = 0;
    }
    if (d == dimensions.size()) return;
  }
}

template <std::size_t size>
void CopyItems(const std::uint8_t* from, std::uint8_t* to, std::vector<Dimension> dimensions) {
  CopyAll(std::move(dimensions), [=](std::size_t source, std::size_t target) {
    std::memcpy(to + target * size, from + source * size, size);
  });
}

}  // namespace

void ReverseBytes(std::span<std::uint8_t> bytes, std::uint32_t group_size) {
  switch (group_size) {
    case 1:
      return;
    case 2:
      return ReverseGroups<2>(bytes);
    case 4:
      return ReverseGroups<4>(bytes);
    case 8:
      return ReverseGroups<8>(bytes);
    default:
      for (std::size_t at = 0; at < bytes.size(); at += group_size) {
        std::reverse(bytes.data() + at, bytes.data() + at + group_size);
      }
  }
}

Result<Voxels> Transpose(const Voxels& voxels, std::span<const std::size_t> order) {
  const ByteSpan items = voxels.bytes();
  const std::uint32_t item_size = voxels.type().size;
  if (order.size() != voxels.shape().size()) {
    return Fail(ErrorCode::kInternal, "transpose: expected ", order.size(), " dimensions, found ",
                voxels.shape().size());
  }
  if (IsIdentity(order)) return voxels;
  ByteVector result(items.size());
  if (items.empty()) {
    return Voxels::Make(voxels.type(), Transposed(voxels.shape(), order), std::move(result));
  }
  std::vector<Dimension> dimensions = DimensionsOf(voxels.shape(), order);
  const std::uint8_t* const from = items.data();
  std::uint8_t* const to = result.data();
  switch (item_size) {
    case 1:
      CopyItems<1>(from, to, std::move(dimensions));
      break;
    case 2:
      CopyItems<2>(from, to, std::move(dimensions));
      break;
    case 4:
      CopyItems<4>(from, to, std::move(dimensions));
      break;
    case 8:
      CopyItems<8>(from, to, std::move(dimensions));
      break;
    default:
      CopyAll(std::move(dimensions), [=](std::size_t source, std::size_t target) {
        std::memcpy(to + target * item_size, from + source * item_size, item_size);
      });
  }
  return Voxels::Make(voxels.type(), Transposed(voxels.shape(), order), std::move(result));
}

std::vector<std::size_t> IdentityOrder(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::size_t> ReversedOrder(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

std::vector<std::size_t> InverseOrder(std::span<const std::size_t> order) {
  std::vector<std::size_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return inverse;
}

Result<std::vector<std::size_t>> ParseOrder(const JsonCursor& order, std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, order.Items());
  const std::string expected = "a permutation of " + std::to_string(rank) + " dimensions";
  if (items.size() != rank) return order.Expected(expected);
  std::vector<std::size_t> axes;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t axis, item.Unsigned(0, rank - 1));
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return order.Expected(expected);
    axes.push_back(axis);
  }
  return axes;
}

bool IsIdentity(std::span<const std::size_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

}  // namespace unshard
