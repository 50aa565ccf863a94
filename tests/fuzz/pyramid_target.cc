// Arbitrary bytes as the attributes of a pyramid with two levels of three axes, of OME-Zarr, N5 or
// precomputed: what is read of it can be said in every format, or is refused with a reason.
#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/dataset_view.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

Array Level() {
  const auto document = ParseJson(
      R"({"zarr_format":3,"node_type":"array","shape":[9,9,9],"data_type":"uint8",)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4,4]}},)"
      R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]})");
  auto array = ReadArray(Dialect::kZarr3, *document, {});
  Require(array.has_value(), "the level is an array");
  return *std::move(array);
}

}  // namespace

void FuzzPyramid(ByteSpan input) {
  if (input.empty()) return;
  const auto attributes = ParseJson(AsText(input.subspan(1)));
  if (!attributes || !attributes->is_object()) return;
  SourceDataset dataset;
  dataset.dialect = static_cast<Dialect>(input[0] % 4);
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.attributes = *attributes;
  if (dataset.dialect == Dialect::kPrecomputed) {
    const auto scales = ReadScales(*attributes);
    if (!scales) return Require(!scales.error().message.empty(), "refusals say why");
    for (const Array& scale : *scales) dataset.levels.push_back({"key", scale});
    if (dataset.levels.empty()) return;
  } else {
    dataset.levels = {{"s0", Level()}, {"s1", Level()}};
    for (PyramidLevel& level : dataset.levels) level.array.dialect = dataset.dialect;
    if (dataset.dialect == Dialect::kN5) dataset.levels[1].array.attributes = *attributes;
  }
  for (const Dialect to : {Dialect::kPrecomputed, Dialect::kZarr3, Dialect::kZarr2, Dialect::kN5}) {
    if (to == dataset.dialect) continue;
    const auto presented = PresentDataset(dataset, to, {});
    if (!presented) {
      Require(!presented.error().message.empty(), "refusals say why");
      continue;
    }
    Require(presented->levels.size() == dataset.levels.size(), "each level is presented");
  }
}

}  // namespace unshard
