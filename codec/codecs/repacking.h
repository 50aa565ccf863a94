// Encoded chunks that become chunks of another codec without being decoded to voxels, and from
// which the same bytes can be made again: JPEGs in JPEG XL. Pure; thread-safe.
#pragma once

#include <optional>

#include "codec/chain/voxels.h"
#include "codec/core/bytes.h"

namespace unshard {

struct CodecDefinition;

// A chunk of `shape` (channel, z, y, x) in the other codec. Nothing where it is no such chunk, or
// has to be decoded and encoded.
using RepackChunk = std::optional<ByteVector> (*)(ByteSpan chunk, ShapeSpan shape);

// Null where chunks of `from` never become chunks of `to` in this way, or this build lacks the
// library.
RepackChunk FindRepacking(const CodecDefinition& from, const CodecDefinition& to);

}  // namespace unshard
