// Checks that bytes are a JPEG or PNG image of a given form, from its headers and its end.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// The properties that the image of one chunk must have. Width and height may be anything with the
// right product. 0: not known.
struct ImageForm {
  std::uint64_t pixels = 0;
  std::uint64_t components = 0;
  std::uint64_t component_size = 0;  // bytes
};

// `start` is the beginning of a file of `size` bytes; where it is the whole file, it must contain
// the end of the image as well. Fail with kInvalidArgument. Pure functions; thread-safe.
Status CheckJpeg(ByteSpan start, std::uint64_t size, const ImageForm& form);
Status CheckPng(ByteSpan start, std::uint64_t size, const ImageForm& form);

}  // namespace unshard
