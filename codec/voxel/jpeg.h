// The jpeg encoding of precomputed volumes, by libjpeg-turbo.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/image_form.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

constexpr std::uint64_t kMaxJpegSide = 65500;  // pixels: the limit of libjpeg
constexpr int kDefaultJpegQuality = 75;        // as in libjpeg and TensorStore

// The planes of any JPEG with components of 8 bits and as many pixels and components (1 or 3) as
// `form` says. Fails with kDataLoss for any other form and for every image that is damaged or cut
// short, and with kInvalidArgument where `form` is none that JPEG has. Pure function; thread-safe.
Result<ByteVector> DecodeJpeg(ByteSpan encoded, const ImageForm& form);

// The codec of volumes of uint8 with 1 or 3 channels; else fails with kDataLoss. Chunks are encoded
// as baseline JPEGs, 1 channel as gray, 3 as RGB stored in YCbCr 4:2:0: the same bytes as
// TensorStore's.
Result<ChunkCodecPtr> MakeJpegCodec(const VolumeEncoding& volume);

}  // namespace unshard
