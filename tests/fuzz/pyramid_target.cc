// Arbitrary bytes as the attributes of a pyramid with two levels of three axes, of OME-Zarr, N5 or
// precomputed: what is read of it can be said in every format and version of OME-Zarr, or is
// refused with a reason.
#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/dataset_view.h"
#include "codec/pyramid/ome_description.h"
#include "codec/pyramid/ome_pyramid.h"
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

// What is presented in a version of OME-Zarr has it, and is read again.
void CheckVersions(const SourceDataset& dataset) {
  if (IsZarr(dataset.dialect)) {
    const auto paths = OmeLevelPaths(OmeOf(dataset.dialect, dataset.attributes));
    if (!paths || paths->size() != dataset.levels.size()) return;  // no such dataset is read
  }
  for (const OmeVersion& version : OmeVersions()) {
    if (!version.is_written) continue;
    ViewOptions options;
    options.ome = &version;
    const auto presented = PresentDataset(dataset, version.dialect, options);
    if (!presented) {
      Require(!presented.error().message.empty(), "refusals say why");
      continue;
    }
    for (const MetadataDocument& document : presented->documents) {
      const JsonValue* attributes = version.dialect == Dialect::kZarr3
                                        ? document.content.Find("attributes")
                                        : &document.content;
      if (!document.directory.empty() || attributes == nullptr) continue;
      const JsonValue ome = OmeOf(version.dialect, *attributes);
      if (ItemsOf(ome, "multiscales").empty()) continue;
      Require(OmeVersionOf(ome) == version.name || !ItemsOf(ome, "multiscales")[0].is_object(),
              "the version is stated");
      Require(!TextOf(DescribeOme(ome)).empty(), "it can be described");
      Require(OmeLevelPaths(ome).has_value(), "its levels have paths");
    }
  }
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
  if (IsZarr(dataset.dialect)) {
    const JsonValue ome = OmeOf(dataset.dialect, *attributes);
    Require(!TextOf(DescribeOme(ome)).empty(), "it can be described");
  }
  CheckVersions(dataset);
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
