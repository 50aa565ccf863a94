// The codec that rearranges the axes of a chunk: `transpose` of Zarr v3, the order "F" of Zarr v2.
#pragma once

#include <cstddef>
#include <vector>

#include "codec/chain/codec.h"

namespace unshard {

// Dimension i of the encoded chunk is axis order[i]. Requires: a permutation of the axes.
ArrayCodecPtr MakeTransposeCodec(std::vector<std::size_t> order,
                                 const ArrayRepresentation& decoded);

}  // namespace unshard
