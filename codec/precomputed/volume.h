// Precomputed volumes to the descriptions of their scales, and back. codec/FORMATS.md,
// "Precomputed". Pure functions; thread-safe.
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

struct PrecomputedScale {
  std::string key;      // as the info has it
  ArrayMetadata array;  // channel, z, y, x; units in nm; the first of its chunk sizes
  // Further chunk sizes of an unsharded scale, in the axes of `array`.
  std::vector<std::vector<std::uint64_t>> other_chunk_shapes;
  JsonValue other_members = JsonValue::Object();  // of the scale: those that are not known here
};

struct PrecomputedVolume {
  std::string type;  // "image", "segmentation"
  std::vector<PrecomputedScale> scales;
  JsonValue other_members = JsonValue::Object();  // of the info: `mesh` and so on
};

// Parses the `info` of a volume. Axis names are "channel", "z", "y", "x"; the codec's metadata are
// those members of a scale that say how its chunks are encoded; `sharding` is the scale's. A scale
// whose encoding is not known here is kNotSupported for all of them; every failure names the path
// and what was expected.
Result<PrecomputedVolume> ParsePrecomputedVolume(std::string_view text);
Result<PrecomputedVolume> ParsePrecomputedVolume(const JsonCursor& document);

// The codec of {encoding, compressed_segmentation_block_size, jpeg_quality, png_level}, members of
// a scale, for `channels` channels of `type`.
Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels);

// The `info` of a volume whose scales may be of any dialect, but have the axes channel, z, y, x.
// Resolutions are `units`, or 1 where there are none. Fails with kNotSupported where precomputed
// volumes have no such data type, and with kInvalidArgument where scales differ in type or
// channels, have other axes than four, chunks with a part of the channels, units that are no
// lengths, or a fill value other than 0.
Result<JsonValue> WritePrecomputedVolume(const PrecomputedVolume& volume);

}  // namespace unshard
