#include "codec/schema/schema.h"

#include <string>
#include <utility>

#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/types/fill_value.h"

namespace unshard {
namespace {

// --- Merging, member by member

Status SetRank(Schema& schema, std::size_t rank, std::string_view member) {
  if (schema.rank && *schema.rank != rank) {
    return Fail(ErrorCode::kInvalidArgument, member, ": conflicting ranks: ", *schema.rank, " and ",
                rank);
  }
  schema.rank = rank;
  return {};
}

Status SetDtype(Schema& schema, const DataTypeNames& type) {
  if (schema.dtype != nullptr && schema.dtype != &type) {
    return Fail(ErrorCode::kInvalidArgument, "dtype: conflicting data types: ", schema.dtype->name,
                " and ", type.name);
  }
  schema.dtype = &type;
  return {};
}

Status SetDomain(Schema& schema, const IndexDomain& domain) {
  UNSHARD_RETURN_IF_ERROR(SetRank(schema, domain.rank(), "domain"));
  if (!schema.domain) {
    schema.domain = domain;
    return {};
  }
  return Assign(schema.domain, MergeDomains(*schema.domain, domain));
}

Status SetLayout(Schema& schema, const ChunkLayout& layout) {
  if (layout.rank) UNSHARD_RETURN_IF_ERROR(SetRank(schema, *layout.rank, "chunk_layout"));
  return schema.chunk_layout.Merge(layout);
}

Status SetCodec(Schema& schema, const CodecConstraints& codec) {
  if (schema.codec) return MergeCodecConstraints(*schema.codec, codec);
  schema.codec = codec;
  return {};
}

// As far as the type is known, fill values are in its form.
Status SetFillValue(Schema& schema, const std::optional<JsonValue>& value) {
  const auto convert = [&schema](std::optional<JsonValue>& given) -> Status {
    if (!given || schema.dtype == nullptr) return {};
    const JsonValue json = *given;
    return Assign(given, ParseSchemaFillValue(*schema.dtype, JsonCursor(json, "fill_value")));
  };
  std::optional<JsonValue> other = value;
  UNSHARD_RETURN_IF_ERROR(convert(schema.fill_value));
  UNSHARD_RETURN_IF_ERROR(convert(other));
  if (schema.fill_value && other && *schema.fill_value != *other) {
    return Conflict("fill_value", *schema.fill_value, *other);
  }
  if (other) schema.fill_value = std::move(other);
  return {};
}

Status SetUnits(Schema& schema, const DimensionUnits& units) {
  if (units.empty()) return {};
  UNSHARD_RETURN_IF_ERROR(SetRank(schema, units.size(), "dimension_units"));
  schema.dimension_units.resize(units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    auto& unit = schema.dimension_units[i];
    if (unit && units[i] && *unit != *units[i]) {
      return Fail(ErrorCode::kInvalidArgument, "dimension_units: dimension ", i,
                  ": conflicting units: ", DimensionUnitText(*unit, SixDigits), " and ",
                  DimensionUnitText(*units[i], SixDigits));
    }
    if (!unit) unit = units[i];
  }
  return {};
}

// --- Parsing

Result<const DataTypeNames*> ParseDtype(const JsonCursor& json) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, json.String());
  const DataTypeNames* const type = FindDataTypeNames(DataTypeDialect::kSchema, name);
  if (type == nullptr) return json.Expected("a data type, for example uint8, uint64 or float32");
  return type;
}

Result<DimensionUnits> ParseUnits(const JsonCursor& json) {
  std::optional<std::size_t> rank;
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json, rank));
  return ParseDimensionUnits(items);
}

Result<Schema> Parse(const JsonValue& document) {
  Schema read;
  UNSHARD_RETURN_IF_ERROR(
      JsonCursor(document, "")
          .ReadMembers(
              {{"rank",
                [&](const auto& at) { return Assign(read.rank, at.Unsigned(0, kMaxRank)); }},
               {"dtype", [&](const auto& at) { return Assign(read.dtype, ParseDtype(at)); }},
               {"domain",
                [&](const auto& at) { return Assign(read.domain, ParseIndexDomain(at)); }},
               {"chunk_layout",
                [&](const auto& at) { return Assign(read.chunk_layout, ParseChunkLayout(at)); }},
               {"codec",
                [&](const auto& at) { return Assign(read.codec, ParseCodecConstraints(at)); }},
               {"fill_value",
                [&](const auto& at) -> Status {
                  read.fill_value = at.value();
                  return {};
                }},
               {"dimension_units",
                [&](const auto& at) { return Assign(read.dimension_units, ParseUnits(at)); }}}));
  Schema schema;
  UNSHARD_RETURN_IF_ERROR(schema.Merge(read));  // fails where members contradict each other
  return schema;
}

}  // namespace

Status Schema::Merge(const Schema& other) {
  if (other.rank) UNSHARD_RETURN_IF_ERROR(SetRank(*this, *other.rank, "rank"));
  if (other.dtype != nullptr) UNSHARD_RETURN_IF_ERROR(SetDtype(*this, *other.dtype));
  if (other.domain) UNSHARD_RETURN_IF_ERROR(SetDomain(*this, *other.domain));
  UNSHARD_RETURN_IF_ERROR(SetLayout(*this, other.chunk_layout));
  if (other.codec) UNSHARD_RETURN_IF_ERROR(SetCodec(*this, *other.codec));
  UNSHARD_RETURN_IF_ERROR(SetFillValue(*this, other.fill_value));
  return SetUnits(*this, other.dimension_units);
}

Result<Schema> ParseSchema(std::string_view text) {
  auto document = ParseJson(text);
  auto schema = document ? Parse(*document) : tl::unexpected<Error>(std::move(document).error());
  if (!schema) return Fail(ErrorCode::kInvalidArgument, schema.error().message);
  return schema;
}

}  // namespace unshard
