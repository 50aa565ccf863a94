// Arbitrary bytes as a compresso chunk of 8 x 8 x 4 labels: all of them, or damage.
#include "codec/voxel/compresso.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzCompressoDecoding(ByteSpan input) {
  for (const std::uint64_t size : {1u, 2u, 4u, 8u}) {
    const auto labels = DecodeCompresso(input, {8, 8, 4}, size);
    if (labels) {
      Require(labels->size() == 256 * size, "a chunk has all its labels");
    } else {
      Require(labels.error().code == ErrorCode::kDataLoss, "refusals are damage");
    }
  }
}

}  // namespace unshard
