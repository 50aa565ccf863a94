// The shape of the sample: sizes, grids and file names of its levels, and their metadata documents.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/precomputed/shard.h"

namespace unshard {

using SampleExtent = std::array<std::uint64_t, 3>;  // x, y, z

// Chunks along each edge of an image shard.
inline constexpr std::uint64_t kSampleChunksPerShard = 4;

// One resolution of both volumes; they have the same size and chunk extent.
struct SampleLevel {
  std::uint64_t voxel_nanometers = 8;  // isotropic
  SampleExtent size{};                 // in voxels
  SampleExtent grid{};                 // in chunks
  SampleExtent offset{};               // of the first voxel
  ShardingSpec sharding;               // of the segmentation

  [[nodiscard]] SampleExtent shard_grid() const;  // of the image
  [[nodiscard]] std::string scale_key() const;    // of the segmentation: "8_8_8"
};

// The two levels of a sample of about `megabytes`, finest first. Sizes are no multiples of the
// chunk extent, and even at the finest level, so that level 1 halves it exactly.
std::array<SampleLevel, 2> MakeSampleLevels(std::uint64_t megabytes);

// A metadata document, relative to the sample's directory.
struct SampleDocument {
  std::string path;
  std::string text;
};
std::vector<SampleDocument> MakeSampleDocuments(const std::array<SampleLevel, 2>& levels);

}  // namespace unshard
