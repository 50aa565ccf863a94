// How a scale of a precomputed volume is encoded, and scales as they are written. codec/FORMATS.md,
// "Precomputed". Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/array/array_metadata.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// The member compressed_segmentation_block_size, x y z; nothing: the scale has none. Fails with
// kDataLoss.
Result<std::optional<std::array<std::uint64_t, 3>>> ParseBlockSize(const JsonCursor& scale);

// The codec of {encoding, compressed_segmentation_block_size, jpeg_quality, png_level}, members of
// a scale, for `channels` channels of `type`. Fails with kDataLoss, naming the path and what was
// expected, and with kNotSupported where the encoding is not known here.
Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels);

// "8_8_40", the `key` of a scale as TensorStore makes it of the resolutions along x, y and z.
std::string ScaleKey(double x, double y, double z);
// A member of `scales`, whose resolution is in the units of `array`.
JsonValue WriteScale(const std::string& key, const ArrayMetadata& array);
// The `info` of a volume.
JsonValue WriteInfo(const std::string& data_type, std::uint64_t channels, JsonValue scales);

}  // namespace unshard
