// The png encoding of precomputed volumes, by libpng.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/image_form.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// In pixels: libpng refuses larger images unless its limit is raised, which no reader does.
constexpr std::uint64_t kMaxPngSide = 1000000;

// The planes of a chunk as a PNG without interlacing: gray, gray and alpha, RGB, or RGB and alpha.
// `level` of zlib, 0 … 9; nothing: its default. Rows and filters are those of TensorStore; the
// compressed bytes differ, because TensorStore has another zlib. Fails with kInvalidArgument unless
// there are 1 to 4 components of 1 or 2 bytes, as many as planes.size() says, and sides within 1 …
// kMaxPngSide. Pure functions; thread-safe.
Result<ByteVector> EncodePng(ByteSpan planes, const ImageSize& size, const ImageForm& form,
                             std::optional<int> level);

// The planes of any PNG with as many pixels and components as `form` says, and 16 bits where a
// component has 2 bytes, else at most 8. Palettes and fewer bits than 8 are expanded; a transparent
// colour is the alpha of 2 or 4 components; gamma and profiles are ignored. Fails with kDataLoss
// for any other form and for every image that is damaged or cut short, and with kInvalidArgument
// where `form` is none that PNG has.
Result<ByteVector> DecodePng(ByteSpan encoded, const ImageForm& form);

// The codec of volumes of uint8 or uint16 with 1 to 4 channels; else fails with kDataLoss.
Result<ChunkCodecPtr> MakePngCodec(const VolumeEncoding& volume);

}  // namespace unshard
