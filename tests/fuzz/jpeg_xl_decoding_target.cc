// Arbitrary bytes as a JPEG XL of 256 pixels: planes of exactly that size, or damage; and the JPEG
// that it was made from, if any.
#include "codec/codecs/codecs.h"
#include "codec/codecs/repacking.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzJpegXlDecoding(ByteSpan input) {
  for (const std::uint64_t channels : {1u, 3u, 4u}) {
    const auto codec = BindVolumeChain(R"("encoding": "jxl")", kUint8, channels).value();
    if (!codec->CanDecode()) return;  // not in this build
    const auto planes = codec->Decode(input, Shape{channels, 4, 8, 8});
    Require(planes || planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
  }
  FindRepacking(JpegXlCodec(), JpegCodec())(input, Shape{1, 4, 8, 8});
}

}  // namespace unshard
