#include "codec/voxel/image_form.h"

#include <cstring>
#include <string>

#include "codec/core/byte_range.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {
namespace {

// Moves `kSize` bytes at a time, from `from` in steps to `to` in steps.
template <std::size_t kSize>
void MoveItems(const std::uint8_t* from, std::size_t from_step, std::uint8_t* to,
               std::size_t to_step, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step, from + i * from_step, kSize);
  }
}

using Mover = void (*)(const std::uint8_t* from, std::size_t from_step, std::uint8_t* to,
                       std::size_t to_step, std::size_t count);

Mover MoverOf(std::uint64_t size) { return size == 1 ? MoveItems<1> : MoveItems<2>; }

}  // namespace

Status CheckImageForm(std::string_view what, const ImageSize& size, std::uint64_t components,
                      unsigned bits, const ImageForm& form) {
  if (form.component_size != 0 && (bits + 7u) / 8 != form.component_size) {
    return RefuseChunk(what, "expected components of " + std::to_string(8 * form.component_size) +
                                 " bits, found " + std::to_string(bits));
  }
  if (form.pixels != 0 && CheckedMultiply(size.width, size.height) != form.pixels) {
    return RefuseChunk(what, "expected an image of " + std::to_string(form.pixels) +
                                 " pixels, found " + std::to_string(size.width) + " x " +
                                 std::to_string(size.height));
  }
  if (form.components != 0 && components != 0 && components != form.components) {
    return RefuseChunk(what, "expected " + std::to_string(form.components) +
                                 " components a pixel, found " + std::to_string(components));
  }
  return {};
}

Result<ImageSize> ArrangeImage(std::string_view what, const std::array<std::uint64_t, 3>& shape,
                               std::uint64_t max_side) {
  const std::uint64_t pixels = CheckedProduct(shape).value_or(0);
  if (pixels == 0) return RefuseChunk(what, "expected at least one voxel");
  for (const std::uint64_t width : {shape[0], shape[0] * shape[1]}) {
    if (width <= max_side && pixels / width <= max_side) return ImageSize{width, pixels / width};
  }
  for (std::uint64_t width = (pixels - 1) / max_side + 1; width <= max_side; ++width) {
    if (pixels % width == 0) return ImageSize{width, pixels / width};
  }
  return Fail(ErrorCode::kNotSupported,
              std::string(what) + ": expected voxels that fit into an image of at most " +
                  std::to_string(max_side) + " pixels a side, found " + std::to_string(shape[0]) +
                  " x " + std::to_string(shape[1]) + " x " + std::to_string(shape[2]) +
                  ": choose a smaller chunk");
}

ByteVector PlanesToPixels(ByteSpan planes, std::uint64_t components, std::uint64_t size) {
  ByteVector pixels(planes.size());
  const std::size_t plane = planes.size() / components;
  for (std::size_t c = 0; c < components; ++c) {
    MoverOf(size)(planes.data() + c * plane, size, pixels.data() + c * size, components * size,
                  plane / size);
  }
  return pixels;
}

ByteVector PixelsToPlanes(ByteSpan pixels, std::uint64_t components, std::uint64_t size) {
  ByteVector planes(pixels.size());
  const std::size_t plane = pixels.size() / components;
  for (std::size_t c = 0; c < components; ++c) {
    MoverOf(size)(pixels.data() + c * size, components * size, planes.data() + c * plane, size,
                  plane / size);
  }
  return planes;
}

}  // namespace unshard
