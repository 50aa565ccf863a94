// The shape of the sample: sizes and places of its levels, and their metadata documents.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "packaging/sample/labels.h"

namespace unshard::sample {

// One resolution of both volumes, which have the same size and chunk extent.
struct Level {
  std::uint64_t voxel_nanometers = 8;  // isotropic
  Position size{};                     // in voxels
  Position offset{};                   // of the first voxel

  [[nodiscard]] Position grid() const;  // in chunks
};
using Levels = std::array<Level, 2>;

// The two levels of a sample of about `megabytes`, finest first. Sizes are no multiples of the
// chunk extent, and even at the finest level, so that level 1 halves it exactly.
Levels MakeLevels(std::uint64_t megabytes);

std::string InfoDocument(const Levels& levels);   // segmentation/info
std::string ArrayDocument(const Level& level);    // image/0/zarr.json
std::string GroupDocument(const Levels& levels);  // image/zarr.json

}  // namespace unshard::sample
