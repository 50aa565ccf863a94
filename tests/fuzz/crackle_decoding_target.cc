// Arbitrary bytes as a crackle chunk of 5 x 4 x 2 or 6 x 5 x 2 labels: all of them, or damage.
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzCrackleDecoding(ByteSpan input) {
  for (const DataType& type : {kUint8, kUint32}) {
    const auto codec = BindVolumeChain(R"("encoding": "crackle")", type, 1).value();
    for (const Shape& shape : {Shape{1, 2, 4, 5}, Shape{1, 2, 5, 6}}) {
      const auto labels = codec->Decode(input, shape);
      Require(labels || labels.error().code == ErrorCode::kDataLoss, "refusals are damage");
    }
  }
}

}  // namespace unshard
