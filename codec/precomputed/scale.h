// How a scale of a precomputed volume is encoded, and scales as they are written. codec/FORMATS.md,
// "Precomputed". Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// The members of a scale that say how its chunks are encoded: `encoding`, and the options of all
// encodings.
std::vector<std::string_view> EncodingMembers();

// The codec of these members, for `channels` channels of `type`; chunks have the axes channel, z,
// y, x. Fails with kDataLoss, naming the path and what was expected, and with kNotSupported where
// the encoding is not known here.
Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels);

// "8_8_40", the `key` of a scale as TensorStore makes it of its resolution along x, y and z.
std::string ScaleKey(const Array& scale);
// The key that two of these scales have; nothing: all are different.
std::optional<std::string> SharedScaleKey(std::span<const Array> scales);
// The member of `scales` for an array whose units are nm.
JsonValue WriteScale(const Array& scale);
// Replaces the members of a scale that say how its chunks are encoded, and its `sharding`.
void SetEncoding(const Array& array, JsonValue& scale);
// The `info` of a volume with these scales, at least one.
JsonValue WriteInfo(std::span<const Array> scales);

}  // namespace unshard
