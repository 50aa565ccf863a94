// Which axis of a stored array an axis of the presented one is. codec/FORMATS.md, "Views".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/pyramid.h"
#include "codec/voxel/chunk_codec.h"

namespace unshard {

// Of each axis of one array, slowest first, that of another one; nothing: an axis of extent 1 that
// the other one lacks. Axes of the other one that do not occur have the extent 1.
using AxisMap = std::vector<std::optional<std::size_t>>;

// The axes of an array of `shape` in documents of another format. Between Zarr and N5 they stay as
// they are. A precomputed volume has c, z, y, x: names decide where an axis is named x, y or z,
// else the order does. Its channels are dropped elsewhere where there is one. Fails with
// kNotSupported, naming the axis that a precomputed volume cannot have.
Result<AxisMap> MapAxes(std::span<const PyramidAxis> axes, std::span<const std::uint64_t> shape,
                        ArrayDialect from, ArrayDialect to);

// The map in the other direction; the other array has `rank` axes.
AxisMap InverseMap(const AxisMap& map, std::size_t rank);
// Whether items in C order keep their order.
bool KeepsOrder(const AxisMap& map);

// One value an axis of the other array, for each axis of this one; `missing` for those it lacks.
template <class T>
std::vector<T> MapList(const AxisMap& map, const std::vector<T>& values, const T& missing) {
  std::vector<T> mapped;
  for (const auto& axis : map) mapped.push_back(axis ? values[*axis] : missing);
  return mapped;
}

// A box of voxels that two chunks have in common: where it begins in each, along its own axes, and
// its extents along the axes of the one that is written.
struct VoxelBox {
  std::vector<std::uint64_t> from;
  std::vector<std::uint64_t> to;
  std::vector<std::uint64_t> extent;
};
// Copies the voxels of a box. `map`: of each axis of `to`, that of `from`. Requires: the box lies
// within both chunks, whose items have one size.
void CopyBox(const Voxels& from, const AxisMap& map, const VoxelBox& box, Voxels& to);
// Sets every item of `bytes` to `item`. Requires: a whole number of items.
void FillItems(ByteVector& bytes, ByteSpan item);

// The voxels with their axes in the order of `map`, in a chunk of `shape`: what lies beyond `shape`
// is cut off, what `voxels` lack is `fill`, one item. Requires: a size that VoxelBytes gives.
Voxels Reshape(const Voxels& voxels, const AxisMap& map, std::span<const std::uint64_t> shape,
               ByteSpan fill);

}  // namespace unshard
