// Arbitrary bytes as the document of an array: the schema that describes it is read as one, where
// its data type and codec are TensorStore's.
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/precomputed/info.h"
#include "codec/pyramid/array_documents.h"
#include "codec/schema/array_schema.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

void RequireSchema(const Result<JsonValue>& schema) {
  if (!schema) {
    Require(!schema.error().message.empty(), "refusals say why");
    return;
  }
  Require(schema->Find("domain") != nullptr && schema->Find("codec") != nullptr,
          "schemas have a domain and a codec");
  Require(ParseJson(WriteJson(*schema)).has_value(), "schemas are read again");
}

}  // namespace

void FuzzArraySchema(ByteSpan input) {
  const auto document = ParseJson(AsText(input), {.max_bytes = 1 << 16, .max_depth = 32});
  if (!document) return;
  for (const auto dialect : {Dialect::kZarr3, Dialect::kZarr2, Dialect::kN5}) {
    if (const auto array = ParseArray(dialect, *document, JsonValue())) {
      RequireSchema(SchemaOf(*array));
    }
  }
  const auto info = ParseNeuroglancerInfo(*document);
  for (const VolumeScale& scale : info ? info->scales : std::vector<VolumeScale>()) {
    RequireSchema(SchemaOf(scale.array));
  }
}

}  // namespace unshard
