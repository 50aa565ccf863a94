// Checks that bytes are a JPEG or PNG image of a given form, from its headers and its end.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/image_form.h"

namespace unshard {

// `start` is the beginning of a file of `size` bytes; where it is the whole file, it must contain
// the end of the image as well. Fail with kInvalidArgument. CheckJpeg returns the size of the image
// as the last frame header in `start` has it, 0 × 0 where it contains none. Pure functions;
// thread-safe.
Result<ImageSize> CheckJpeg(ByteSpan start, std::uint64_t size, const ImageForm& form);
Status CheckPng(ByteSpan start, std::uint64_t size, const ImageForm& form);

}  // namespace unshard
