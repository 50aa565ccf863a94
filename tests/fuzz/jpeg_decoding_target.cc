// Arbitrary bytes as a JPEG of 256 pixels: planes of exactly that size, or damage.
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzJpegDecoding(ByteSpan input) {
  for (const std::uint64_t channels : {1u, 3u}) {
    const auto codec = BindVolumeChain(R"("encoding": "jpeg")", kUint8, channels).value();
    const auto planes = codec->Decode(input, Shape{channels, 4, 8, 8});
    Require(planes || planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
  }
}

}  // namespace unshard
