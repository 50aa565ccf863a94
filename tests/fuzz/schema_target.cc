// Arbitrary bytes as a schema: what is accepted is merged with itself, and made into documents that
// are read again.
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/schema/new_array.h"
#include "codec/schema/schema.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

// The nearest divisor of a large extent is searched for one by one.
bool HasLargeNumbers(std::string_view text) {
  constexpr std::size_t kMostDigits = 4;
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > kMostDigits || c == 'e' || c == 'E') return true;
  }
  return false;
}

void RequireDocument(Dialect dialect, const Schema& schema) {
  const auto array = NewArray(dialect, schema);
  const auto document = array ? DocumentOfNew(*array) : tl::unexpected<Error>(array.error());
  if (!document) {
    Require(document.error().code == ErrorCode::kInvalidArgument, "refusals are about the schema");
    Require(!document.error().message.empty(), "refusals say why");
    return;
  }
  Require(ParseJson(WriteJson(*document)).has_value(), "documents are read again");
}

}  // namespace

void FuzzSchema(ByteSpan input) {
  const std::string_view text = AsText(input);
  if (text.size() > 1 << 14) return;
  const auto schema = ParseSchema(text);
  if (!schema) {
    Require(schema.error().code == ErrorCode::kInvalidArgument, "refusals are about the schema");
    return;
  }
  Schema twice = *schema;
  Require(twice.Merge(*schema).has_value(), "a schema agrees with itself");
  Require(ChunkLayoutJson(twice.chunk_layout) == ChunkLayoutJson(schema->chunk_layout),
          "merging a schema with itself changes nothing");
  if (schema->domain) IndexDomainJson(*schema->domain);
  DimensionUnitsJson(schema->dimension_units);
  RequireDocument(Dialect::kN5, *schema);
  RequireDocument(Dialect::kZarr2, *schema);
  RequireDocument(Dialect::kPrecomputed, *schema);
  if (!HasLargeNumbers(text)) RequireDocument(Dialect::kZarr3, *schema);
}

}  // namespace unshard
