// Arbitrary bytes as a JPEG of 256 pixels: planes of exactly that size, or damage.
#include "codec/voxel/jpeg.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzJpegDecoding(ByteSpan input) {
  for (const std::uint64_t components : {1u, 3u}) {
    const auto planes = DecodeJpeg(input, {256, components, 1});
    if (planes) {
      Require(planes->size() == 256 * components, "an image has all its pixels");
    } else {
      Require(planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
    }
  }
}

}  // namespace unshard
