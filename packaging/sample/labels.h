// The segmentation of the sample: an endless field of cell-like labels, computed tile by tile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unshard::sample {

// x, y, z of a voxel of the finest level, or of a chunk; never negative.
using Position = std::array<std::uint64_t, 3>;

// Tiles and the chunks of every level are cubes of this extent.
inline constexpr std::size_t kEdge = 64;
inline constexpr std::size_t kTileVoxels = kEdge * kEdge * kEdge;

// Distances from boundaries are cut off here, in voxels.
inline constexpr float kFarFromBoundary = 4.0F;

// One cube of voxels, x fastest.
struct LabelTile {
  std::vector<std::uint64_t> labels;
  std::vector<float> boundary_distances;  // from the nearest voxel of another label, approximately
};

// The voxels from `origin`, which must be a multiple of the tile extent. Pure; thread-safe.
LabelTile MakeLabels(const Position& origin);

}  // namespace unshard::sample
