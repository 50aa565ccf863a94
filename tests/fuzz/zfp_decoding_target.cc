// Arbitrary bytes as a zfpc chunk of 4 x 3 x 2 voxels, and as a chunk of zfp: all voxels, or
// damage.
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {

void FuzzZfpDecoding(ByteSpan input) {
  constexpr DataType kFloat = {DataType::Kind::kFloat, 4};
  const auto require = [](const Result<Voxels>& voxels) {
    Require(voxels || voxels.error().code == ErrorCode::kDataLoss, "refusals are damage");
  };
  for (const std::uint64_t channels : {1u, 3u}) {
    const auto volume = BindVolumeChain(R"("encoding": "zfpc")", kFloat, channels).value();
    if (!volume->CanDecode()) return;  // not in this build
    require(volume->Decode(input, Shape{channels, 2, 3, 4}));
  }
  for (const char* const mode :
       {R"("reversible")", R"("fixed_rate", "rate": 8)", R"("fixed_accuracy", "tolerance": 0.5)"}) {
    const JsonValue json =
        ParseJson(R"([{"name": "zfp", "configuration": {"mode": )" + std::string(mode) + "}}]")
            .value();
    const auto array = BindZarr3Chain(JsonCursor(json, "codecs"), kFloat, 2).value();
    require(array->Decode(input, Shape{5, 6}));
  }
}

}  // namespace unshard
