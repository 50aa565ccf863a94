// Arbitrary bytes as images and as compressed segmentation: a partial look never refuses what a
// whole look accepts.
#include "codec/codecs/segmentation_format.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {
namespace {

// Calls look(start, size) on all of the input and on the first half of it.
template <class Look>
void LookTwice(ByteSpan input, const Look& look) {
  constexpr std::size_t kLeastLook = 128;  // more than any header that has to be seen
  const auto whole = look(input, input.size());
  if (!whole) {
    Require(whole.error().code == ErrorCode::kInvalidArgument, "refusals are invalid arguments");
    return;
  }
  Require(!input.empty(), "an empty chunk is never right");
  if (input.size() / 2 < kLeastLook) return;
  const ByteVector half(input.begin(),
                        input.begin() + static_cast<std::ptrdiff_t>(input.size() / 2));
  Require(look(half, input.size()).has_value(), "what is not seen is taken on trust");
}

}  // namespace

void FuzzChunkCheck(ByteSpan input) {
  for (const char* encoding : {R"("encoding": "jpeg")", R"("encoding": "png")"}) {
    for (const std::uint64_t channels : {1u, 3u}) {
      const auto codec = BindVolumeChain(encoding, kUint8, channels).value();
      LookTwice(input, [&](ByteSpan start, std::uint64_t size) {
        return codec->Check(start, size, Shape{channels, 4, 8, 8});
      });
    }
  }
  const std::uint64_t largest = ~std::uint64_t{0};
  for (const SegmentationForm& form :
       {SegmentationForm{{8, 8, 4}, {8, 8, 8}, 1, 2}, SegmentationForm{{8, 8, 4}, {4, 4, 4}, 1, 1},
        SegmentationForm{{largest, largest, largest}, {1, 1, largest}, 3, 2}}) {
    LookTwice(input, [&](ByteSpan start, std::uint64_t size) {
      return CheckCompressedSegmentation(start, size, form);
    });
  }
}

}  // namespace unshard
