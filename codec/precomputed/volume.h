// The scales of precomputed volumes as descriptions of arrays. codec/FORMATS.md, "Precomputed".
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// The most channels that are accepted, more than any volume has.
inline constexpr std::uint64_t kMostChannels = std::uint64_t{1} << 32;

// An array for each scale in the `info` of a volume. Axis names are "channel", "z", "y", "x"; units
// are nm; of several chunk sizes of an unsharded scale the first is taken. codec_json has the
// members of the scale that say how its chunks are encoded; `sharding` is the scale's. Fails with
// kDataLoss, naming the path and what was expected, on damaged metadata, and with kNotSupported
// where one of the scales has an encoding or a data type that is not known here.
Result<std::vector<ArrayMetadata>> ParsePrecomputedScales(const JsonCursor& info);

// The codec of {encoding, compressed_segmentation_block_size, jpeg_quality, png_level}, members of
// a scale, for `channels` channels of `type`. Fails as ParsePrecomputedScales does.
Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels);

}  // namespace unshard
