// Arbitrary bytes as chunks of 4 x 3 x 2 voxels in fpzip and kempressed: all voxels, or damage.
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzFpzipDecoding(ByteSpan input) {
  for (const char* const encoding : {R"("encoding": "fpzip")", R"("encoding": "kempressed")"}) {
    for (const std::uint32_t size : {4u, 8u}) {
      for (const std::uint64_t channels : {1u, 3u}) {
        const DataType type = {DataType::Kind::kFloat, size};
        const auto voxels = BindVolumeChain(encoding, type, channels)
                                .value()
                                ->Decode(input, Shape{channels, 2, 3, 4});
        Require(voxels || voxels.error().code == ErrorCode::kDataLoss, "refusals are damage");
      }
    }
  }
}

}  // namespace unshard
