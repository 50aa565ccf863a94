// Arbitrary bytes as compressed_segmentation of 8 x 8 x 4 labels: all of them, or damage; and what
// was decoded is encoded without loss.
#include "codec/codecs/segmentation_format.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzSegmentationDecoding(ByteSpan input) {
  for (const SegmentationForm& form :
       {SegmentationForm{{8, 8, 4}, {4, 4, 4}, 1, 1}, SegmentationForm{{8, 8, 4}, {4, 4, 4}, 1, 2},
        SegmentationForm{{8, 8, 4}, {3, 8, 8}, 2, 1}, SegmentationForm{{8, 8, 4}, {3, 8, 8}, 2, 2},
        SegmentationForm{{8, 8, 4}, {1, 1, ~std::uint64_t{0}}, 1, 2}}) {
    const auto labels = DecodeCompressedSegmentation(input, form);
    if (!labels) {
      Require(labels.error().code == ErrorCode::kDataLoss, "refusals are damage");
      continue;
    }
    Require(labels->size() == 256 * form.channels * form.label_words * 4, "all labels are there");
    SegmentationForm cubes = form;
    cubes.block_shape = {8, 8, 8};
    const auto encoded = EncodeCompressedSegmentation(*labels, cubes);
    Require(encoded.has_value(), "what was decoded can be encoded");
    const auto again = DecodeCompressedSegmentation(*encoded, cubes);
    Require(again && *again == *labels, "encoding loses nothing");
  }
}

}  // namespace unshard
