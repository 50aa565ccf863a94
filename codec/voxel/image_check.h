// Whether bytes are a JPEG or PNG image of a given form: headers and ends, no pixels.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// What a format demands of the image in one chunk. Width and height are free as long as their
// product is right. 0: not known.
struct ImageForm {
  std::uint64_t pixels = 0;
  std::uint64_t components = 0;
  std::uint64_t component_size = 0;  // bytes
};

// `start` is the beginning of a file of `size` bytes; where it is all of it, the end of the image
// has to be there as well. Fail with kInvalidArgument. Pure functions; thread-safe.
Status CheckJpeg(ByteSpan start, std::uint64_t size, const ImageForm& form);
Status CheckPng(ByteSpan start, std::uint64_t size, const ImageForm& form);

}  // namespace unshard
