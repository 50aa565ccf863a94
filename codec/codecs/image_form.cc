#include "codec/codecs/image_form.h"

#include <cstring>
#include <string>

#include "codec/core/byte_range.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

enum class Direction { kToPixels, kToPlanes };

// Copies items of `kSize` bytes, pixel by pixel. The numbers are constants so that the compiler
// unrolls the loop over components.
template <Direction kDirection, std::size_t kComponents, std::size_t kSize>
void CopyItems(const std::uint8_t* from, std::size_t pixels, std::uint8_t* to) {
  const std::size_t plane = pixels * kSize;
  for (std::size_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < kComponents; ++c) {
      const std::size_t in_pixels = (i * kComponents + c) * kSize;
      const std::size_t in_planes = c * plane + i * kSize;
      if constexpr (kDirection == Direction::kToPixels) {
        std::memcpy(to + in_pixels, from + in_planes, kSize);
      } else {
        std::memcpy(to + in_planes, from + in_pixels, kSize);
      }
    }
  }
}

template <Direction kDirection>
ByteVector RearrangeItems(ByteSpan from, std::uint64_t components, std::uint64_t size) {
  using Copy = void (*)(const std::uint8_t* from, std::size_t pixels, std::uint8_t* to);
  constexpr std::array<Copy, 8> kCopies = {
      CopyItems<kDirection, 1, 1>, CopyItems<kDirection, 1, 2>, CopyItems<kDirection, 2, 1>,
      CopyItems<kDirection, 2, 2>, CopyItems<kDirection, 3, 1>, CopyItems<kDirection, 3, 2>,
      CopyItems<kDirection, 4, 1>, CopyItems<kDirection, 4, 2>};
  ByteVector to(from.size());
  kCopies[2 * (components - 1) + size - 1](from.data(), from.size() / (components * size),
                                           to.data());
  return to;
}

}  // namespace

ImageForm ImageFormOf(const EncodedVolume& volume, const VolumeExtent& shape) {
  return {shape[0] * shape[1] * shape[2], volume.channels, volume.type.size};
}

Status CheckImageForm(std::string_view what, const ImageSize& size, std::uint64_t components,
                      unsigned bits, const ImageForm& form) {
  if ((bits + 7u) / 8 != form.component_size) {
    return RefuseChunk(what, "expected components of ", 8 * form.component_size, " bits, found ",
                       bits);
  }
  if (CheckedMultiply(size.width, size.height) != form.pixels) {
    return RefuseChunk(what, "expected an image of ", form.pixels, " pixels, found ", size.width,
                       " x ", size.height);
  }
  if (components != 0 && components != form.components) {
    return RefuseChunk(what, "expected ", form.components, " components a pixel, found ",
                       components);
  }
  return {};
}

Result<ImageSize> ArrangeImage(std::string_view what, const VolumeExtent& shape,
                               std::uint64_t max_side) {
  const std::uint64_t pixels = CheckedProduct(shape).value_or(0);
  if (pixels == 0) return RefuseChunk(what, "expected at least one voxel");
  for (const std::uint64_t width : {shape[0], shape[0] * shape[1]}) {
    if (width <= max_side && pixels / width <= max_side) return ImageSize{width, pixels / width};
  }
  for (std::uint64_t width = (pixels - 1) / max_side + 1; width <= max_side; ++width) {
    if (pixels % width == 0) return ImageSize{width, pixels / width};
  }
  return Fail(ErrorCode::kNotSupported, what,
              ": expected voxels that fit into an image of at most ", max_side,
              " pixels a side, found ", ExtentText(shape), ": choose a smaller chunk");
}

ByteVector PlanesToPixels(ByteSpan planes, std::uint64_t components, std::uint64_t size) {
  return RearrangeItems<Direction::kToPixels>(planes, components, size);
}

ByteVector PixelsToPlanes(ByteSpan pixels, std::uint64_t components, std::uint64_t size) {
  return RearrangeItems<Direction::kToPlanes>(pixels, components, size);
}

}  // namespace unshard
