// The segmentation of the sample: an endless field of cell-like labels, computed tile by tile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unshard {

// x, y, z of the sample's finest level; never negative.
using SamplePosition = std::array<std::uint64_t, 3>;

// Tiles and the chunks of every level are cubes of this extent.
inline constexpr std::size_t kSampleTileExtent = 64;
inline constexpr std::size_t kSampleTileVoxels =
    kSampleTileExtent * kSampleTileExtent * kSampleTileExtent;

// Distances from boundaries are cut off here, in voxels.
inline constexpr float kSampleFarFromBoundary = 4.0F;

// One cube of voxels, x fastest.
struct SampleLabelTile {
  std::vector<std::uint64_t> labels;
  std::vector<float> boundary_distances;  // from the nearest voxel of another label, approximately
};

// Fills `tile` with the voxels from `origin`, which must be a multiple of the tile extent. A pure
// function of the origin; thread-safe.
void FillSampleLabels(const SamplePosition& origin, SampleLabelTile& tile);

}  // namespace unshard
