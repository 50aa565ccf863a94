// Arbitrary bytes as a chunk of 4 x 3 x 2 voxels in npz, whole and as what zlib holds: all voxels,
// or damage.
#include "codec/codecs/deflate.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzNpzDecoding(ByteSpan input) {
  constexpr DataType kFloat = {DataType::Kind::kFloat, 4};
  const auto codec = BindVolumeChain(R"("encoding": "npz")", kFloat, 3).value();
  const auto require = [&](ByteSpan chunk) {
    const auto voxels = codec->Decode(chunk, Shape{3, 2, 3, 4});
    Require(voxels || voxels.error().code == ErrorCode::kDataLoss, "refusals are damage");
  };
  require(input);
  require(DeflateInUse().deflate(DeflateContainer::kZlib, input, 1));
}

}  // namespace unshard
