// The image of the sample: grey values like those of electron microscopy, over the sample's labels.
#pragma once

#include <cstdint>
#include <vector>

#include "packaging/sample/labels.h"

namespace unshard {

// Fills `grey` with the image of the tile at `origin`, x fastest: dark membranes along the label
// boundaries, uneven cytoplasm, dark organelles, grain. `labels` is that tile's. A pure function;
// thread-safe.
void FillSampleImage(const SamplePosition& origin, const SampleLabelTile& labels,
                     std::vector<std::uint8_t>& grey);

}  // namespace unshard
