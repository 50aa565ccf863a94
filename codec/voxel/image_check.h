// Checks that bytes are a JPEG or PNG image of a given form, by its headers and its end.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/image_form.h"

namespace unshard {

// `start` is the beginning of a file of `size` bytes; where it is the whole file, it must contain
// the end of the image as well. Both fail with kInvalidArgument, naming what was expected.
// CheckJpeg returns the size of the image in the last frame header of `start`, 0 × 0 where there is
// none. Pure functions; thread-safe.
Result<ImageSize> CheckJpeg(ByteSpan start, std::uint64_t size, const ImageForm& form);
Status CheckPng(ByteSpan start, std::uint64_t size, const ImageForm& form);

}  // namespace unshard
