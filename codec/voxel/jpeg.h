// The jpeg encoding of precomputed volumes, by libjpeg-turbo.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/image_form.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

constexpr std::uint64_t kMaxJpegSide = 65500;  // the limit of libjpeg
constexpr int kDefaultJpegQuality = 75;        // that of libjpeg and TensorStore

// The planes of a chunk as a baseline JPEG: 1 component is gray, 3 are RGB, stored as YCbCr 4:2:0.
// The same bytes as TensorStore. Fails with kInvalidArgument unless there is a byte for each
// component, with components 1 or 3, sides within 1 … kMaxJpegSide and a quality within 0 … 100.
// Pure functions; thread-safe.
Result<ByteVector> EncodeJpeg(ByteSpan planes, const ImageSize& size, std::uint64_t components,
                              int quality);

// The planes of any JPEG with components of 8 bits and as many pixels and components (1 or 3) as
// `form` says. Fails with kDataLoss for any other form and for every image that is damaged or cut
// short, and with kInvalidArgument where `form` is none that JPEG has.
Result<ByteVector> DecodeJpeg(ByteSpan encoded, const ImageForm& form);

// The codec of volumes of uint8 with 1 or 3 channels; else fails with kDataLoss.
Result<ChunkCodecPtr> MakeJpegCodec(const VolumeEncoding& volume);

}  // namespace unshard
