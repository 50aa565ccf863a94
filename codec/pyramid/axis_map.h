// Correspondence of the axes of two arrays, and copying of voxels between them. codec/FORMATS.md,
// "Views". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/chain/voxels.h"
#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

// For each axis of one array, slowest first, the axis of another array; nothing: that array lacks
// this axis, which has the extent 1. Axes of that array that are not in the map have the extent 1.
using AxisMap = std::vector<std::optional<std::size_t>>;

// The axes of an array of `shape` in another format. Between Zarr and N5 they stay as they are. A
// precomputed volume has c, z, y, x: they are found by name where an axis is named x, y or z, else
// by order. The channel of a precomputed volume is dropped in other formats where there is only
// one. Fails with kNotSupported, naming the axis that a precomputed volume cannot have.
Result<AxisMap> MapAxes(std::span<const PyramidAxis> axes, std::span<const std::uint64_t> shape,
                        Dialect from, Dialect to);

// For each axis of `to`, the axis of `from`: by name where both arrays name all their axes, else by
// MapAxes, else in order. Axes of extent 1 may be added and dropped; origins may differ. Fails with
// kInvalidArgument, naming the axis and both extents, where the shapes differ, and naming both
// types where these differ (a bool may become a uint8).
Result<AxisMap> MatchArrays(const Array& from, std::span<const PyramidAxis> from_axes,
                            const Array& to);

// Each axis is that of the same number.
AxisMap SameAxes(std::size_t rank);
// The map in the other direction; the other array has `rank` axes.
AxisMap InverseMap(const AxisMap& map, std::size_t rank);
// Whether items in C order have the same order along the axes of both arrays.
bool KeepsOrder(const AxisMap& map);

// `values`, one for each axis of the other array, by the axes of this one; `missing` for those that
// the other array lacks.
template <class T>
std::vector<T> MapList(const AxisMap& map, const std::vector<T>& values, const T& missing) {
  std::vector<T> mapped;
  for (const auto& axis : map) mapped.push_back(axis ? values[*axis] : missing);
  return mapped;
}

// A box of voxels that is copied from one chunk to another.
struct VoxelBox {
  std::vector<std::uint64_t> from;    // where it begins in the source, along the source's axes
  std::vector<std::uint64_t> to;      // where it begins in the target, along the target's axes
  std::vector<std::uint64_t> extent;  // along the target's axes
};
// Copies the voxels of a box. `map`: for each axis of `to`, that of `from`. Requires: the box lies
// within both chunks, whose items have the same size.
void CopyBox(const Voxels& from, const AxisMap& map, const VoxelBox& box, Voxels& to);

}  // namespace unshard
