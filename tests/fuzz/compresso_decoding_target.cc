// Arbitrary bytes as a compresso chunk of 8 x 8 x 4 labels: all of them, or damage.
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzCompressoDecoding(ByteSpan input) {
  for (const DataType& type : {kUint8, kUint16, kUint32, kUint64}) {
    const auto codec = BindVolumeChain(R"("encoding": "compresso")", type, 1).value();
    const auto labels = codec->Decode(input, Shape{1, 4, 8, 8});
    Require(labels || labels.error().code == ErrorCode::kDataLoss, "refusals are damage");
  }
}

}  // namespace unshard
