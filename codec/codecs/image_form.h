// Chunks as images: width, height and components, and the order of the components.
// codec/FORMATS.md, "Chunk encodings". Pure; thread-safe.
//
// An image has a pixel for each voxel, in the order of the chunk (x fastest), with any width and
// height whose product is the number of voxels. A pixel has a component for each channel. In an
// image the components of one pixel are adjacent; in a chunk each channel is a plane, the slowest
// axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/codecs/volume_encoding.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// In pixels: the limit of libjpeg; and libpng refuses larger images unless its limit is raised,
// which no reader does.
constexpr std::uint64_t kMaxJpegSide = 65500;
constexpr std::uint64_t kMaxPngSide = 1000000;

// The properties that the image of one chunk must have.
struct ImageForm {
  std::uint64_t pixels = 0;
  std::uint64_t components = 0;
  std::uint64_t component_size = 0;  // bytes
};

// Of a chunk of `shape`.
ImageForm ImageFormOf(const EncodedVolume& volume, const VolumeExtent& shape);

struct ImageSize {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
};

// Fails with kInvalidArgument, naming what was expected, unless an image of `size` with so many
// components of so many bits has the form. `what` names the format: "png chunk". `components` 0:
// not known.
Status CheckImageForm(std::string_view what, const ImageSize& size, std::uint64_t components,
                      unsigned bits, const ImageForm& form);

// The image of a chunk of `shape` (x, y, z). As TensorStore and CloudVolume do, a row of voxels is
// a row of pixels; where the image would be higher than `max_side`, a plane is; else any width that
// fits. Fails with kNotSupported where none does, and with kInvalidArgument for an empty chunk.
Result<ImageSize> ArrangeImage(std::string_view what, const VolumeExtent& shape,
                               std::uint64_t max_side);

// From planes to pixels and back. Requires: 1 to 4 components, a size of 1 or 2 bytes, and a whole
// number of voxels.
ByteVector PlanesToPixels(ByteSpan planes, std::uint64_t components, std::uint64_t size);
ByteVector PixelsToPlanes(ByteSpan pixels, std::uint64_t components, std::uint64_t size);

}  // namespace unshard
