// Arbitrary bytes as a JPEG XL of 256 pixels: planes of exactly that size, or damage.
#include "codec/core/library.h"
#include "codec/voxel/jpeg_xl.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzJpegXlDecoding(ByteSpan input) {
  if (!Libjxl().in_build()) return;
  for (const std::uint64_t components : {1u, 3u, 4u}) {
    const auto planes = DecodeJpegXl(input, {256, components, 1});
    if (planes) {
      Require(planes->size() == 256 * components, "an image has all its pixels");
    } else {
      Require(planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
    }
  }
}

}  // namespace unshard
