// Arbitrary bytes as images and as compressed segmentation: a partial look never refuses what a
// whole look accepts; and as texts, which are right if nothing is left when they are written again.
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

// Whether the input is a list of this many items with their lengths, and nothing else.
bool HoldsItems(ByteSpan input, std::uint64_t count) {
  if (input.size() < 4 || LoadU32Le(input.data()) != count) return false;
  ByteSpan rest = input.subspan(4);
  for (; count > 0; --count) {
    if (rest.size() < 4 || rest.size() - 4 < LoadU32Le(rest.data())) return false;
    rest = rest.subspan(4 + std::size_t{LoadU32Le(rest.data())});
  }
  return rest.empty();
}

void FuzzTexts(ByteSpan input) {
  static const auto codec = [] {
    const JsonValue codecs = ParseJson(R"(["vlen-utf8"])").value();
    return BindZarr3Chain(JsonCursor(codecs, "codecs"), {DataType::Kind::kOpaque, 0}, 2).value();
  }();
  for (const std::uint64_t extent : {1u, 3u}) {
    const auto checked = codec->Check(input, input.size(), Shape{2, extent});
    Require(checked.has_value() == HoldsItems(input, 2 * extent), "both agree on the items");
  }
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
  FuzzTexts(input);
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
