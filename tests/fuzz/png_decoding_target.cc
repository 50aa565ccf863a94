// Arbitrary bytes as a PNG of 256 pixels: planes of exactly that size, or damage; and what was
// decoded is encoded without loss.
#include "codec/core/library.h"
#include "codec/voxel/png.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzPngDecoding(ByteSpan input) {
  if (!Libpng().in_build()) return;
  for (const std::uint64_t components : {1u, 2u, 3u, 4u}) {
    for (const std::uint64_t size : {1u, 2u}) {
      const ImageForm form = {256, components, size};
      const auto planes = DecodePng(input, form);
      if (!planes) {
        Require(planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
        continue;
      }
      Require(planes->size() == 256 * components * size, "an image has all its pixels");
      const auto encoded = EncodePng(*planes, {8, 32}, form, 1);
      Require(encoded.has_value(), "what was decoded can be encoded");
      const auto again = DecodePng(*encoded, form);
      Require(again && *again == *planes, "encoding loses nothing");
    }
  }
}

}  // namespace unshard
