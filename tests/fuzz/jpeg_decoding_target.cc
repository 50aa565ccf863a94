// Arbitrary bytes as a JPEG of 256 pixels: planes of exactly that size, or damage. Each that is put
// into JPEG XL can be taken out of it.
#include "codec/codecs/codecs.h"
#include "codec/codecs/repacking.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzJpegDecoding(ByteSpan input) {
  for (const std::uint64_t channels : {1u, 3u}) {
    const auto codec = BindVolumeChain(R"("encoding": "jpeg")", kUint8, channels).value();
    const auto planes = codec->Decode(input, Shape{channels, 4, 8, 8});
    Require(planes || planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
    const RepackChunk repack = FindRepacking(JpegCodec(), JpegXlCodec());
    if (repack == nullptr || !codec->Check(input, input.size(), Shape{channels, 4, 8, 8})) continue;
    repack(input, Shape{channels, 4, 8, 8});
  }
}

}  // namespace unshard
