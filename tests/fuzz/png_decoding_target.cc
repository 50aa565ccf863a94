// Arbitrary bytes as a PNG of 256 pixels: planes of exactly that size, or damage; and what was
// decoded is encoded without loss.
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzPngDecoding(ByteSpan input) {
  for (const std::uint64_t channels : {1u, 2u, 3u, 4u}) {
    for (const DataType& type : {kUint8, kUint16}) {
      const auto codec =
          BindVolumeChain(R"("encoding": "png", "png_level": 1)", type, channels).value();
      if (!codec->CanDecode()) return;  // not in this build
      const Shape shape{channels, 4, 8, 8};
      const auto planes = codec->Decode(input, shape);
      if (!planes) {
        Require(planes.error().code == ErrorCode::kDataLoss, "refusals are damage");
        continue;
      }
      const auto encoded = codec->Encode(*planes);
      Require(encoded.has_value(), "what was decoded can be encoded");
      Require(codec->Decode(*encoded, shape) == *planes, "encoding loses nothing");
    }
  }
}

}  // namespace unshard
