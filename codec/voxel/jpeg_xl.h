// The jxl encoding of precomputed volumes, by libjxl (reading only).
#pragma once

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/image_form.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// The planes of a JPEG XL image, codestream or container, of 8 bits a component, with as many
// pixels and components as `form` says. Alpha is a component. The frames of an animation have the
// components one after the other, as CloudVolume writes several channels. Fails with kDataLoss for
// any other form and for an image that is damaged or cut short, and with kInvalidArgument where
// `form` is not of bytes. Pure function; thread-safe.
Result<ByteVector> DecodeJpegXl(ByteSpan encoded, const ImageForm& form);

// The codec of volumes of uint8; else fails with kDataLoss.
Result<ChunkCodecPtr> MakeJpegXlCodec(const VolumeEncoding& volume);

}  // namespace unshard
