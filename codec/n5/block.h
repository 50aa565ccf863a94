// N5 blocks: a header of big-endian numbers, then the big-endian items, compressed by one codec.
// codec/FORMATS.md, "Chunks of Zarr and N5 arrays". Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/voxel/chunk_codec.h"
#include "codec/voxel/item_codec.h"

namespace unshard {

// The header of a block of `shape`, slowest axis first, in mode 0. Requires: extents below 2^32.
ByteVector MakeN5BlockHeader(std::span<const std::uint64_t> shape);

// The codec of blocks with these items, whose shape is at most `block_shape`, slowest axis first;
// or, where that is nothing, at most the shape that Decode is given. Requires: big-endian items.
// Never null.
ChunkCodecPtr MakeN5BlockCodec(ItemChain items,
                               std::optional<std::vector<std::uint64_t>> block_shape);
// The codec of `compression`, a member of attributes.json, for blocks of at most `block_shape`,
// slowest axis first. A block is written with the shape of its voxels. Fails with
// kDataLoss, naming the path and what was expected, on damaged metadata, and with kNotSupported,
// naming the type, where voxels cannot be decoded.
Result<ChunkCodecPtr> MakeN5ChunkCodec(const JsonCursor& compression, const DataType& type,
                                       std::vector<std::uint64_t> block_shape);

}  // namespace unshard
