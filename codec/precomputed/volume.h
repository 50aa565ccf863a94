// Precomputed volumes to the descriptions of their scales. codec/FORMATS.md, "Precomputed". Pure
// functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// More channels than any volume has.
inline constexpr std::uint64_t kMostChannels = std::uint64_t{1} << 32;

// The arrays that the `info` of a volume describes, a scale each. Axis names are "channel", "z",
// "y", "x"; units are nm; of several chunk sizes of an unsharded scale the first is taken. The
// codec's metadata are those members of a scale that say how its chunks are encoded; `sharding` is
// the scale's. A scale whose encoding is not known here is kNotSupported for all of them; every
// failure names the path and what was expected.
Result<std::vector<ArrayMetadata>> ParsePrecomputedScales(const JsonCursor& info);

// The codec of {encoding, compressed_segmentation_block_size, jpeg_quality, png_level}, members of
// a scale, for `channels` channels of `type`.
Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels);

}  // namespace unshard
