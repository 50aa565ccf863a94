// The image of the sample: grey values like those of electron microscopy, over the sample's labels.
#pragma once

#include "codec/core/bytes.h"
#include "packaging/sample/labels.h"

namespace unshard::sample {

// The image of the tile at `origin`, x fastest: dark membranes along the label boundaries, uneven
// cytoplasm, dark organelles, grain. `labels` is that tile's. Pure; thread-safe.
ByteVector MakeImage(const Position& origin, const LabelTile& labels);

}  // namespace unshard::sample
