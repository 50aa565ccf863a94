#include "codec/schema/schema.h"

#include <string>
#include <utility>

#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/schema/json_reading.h"
#include "codec/types/fill_value.h"

namespace unshard {
namespace {

Status SetRank(Schema& schema, std::size_t rank, std::string_view member) {
  if (schema.rank && *schema.rank != rank) {
    return Fail(ErrorCode::kInvalidArgument, member, ": rank ", rank, " conflicts with rank ",
                *schema.rank);
  }
  schema.rank = rank;
  return {};
}

Status SetDtype(Schema& schema, const DataTypeNames& type) {
  if (schema.dtype != nullptr && schema.dtype != &type) {
    return Fail(ErrorCode::kInvalidArgument, "dtype: conflicting data types ", schema.dtype->name,
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
  UNSHARD_ASSIGN_OR_RETURN(schema.domain, MergeDomains(*schema.domain, domain));
  return {};
}

Status SetLayout(Schema& schema, const ChunkLayout& layout) {
  if (layout.rank) UNSHARD_RETURN_IF_ERROR(SetRank(schema, *layout.rank, "chunk_layout"));
  auto merged = schema.chunk_layout.Merge(layout);
  if (!merged) return Forward(std::move(merged).error(), "chunk_layout");
  return {};
}

Status SetUnits(Schema& schema, const DimensionUnits& units) {
  if (units.empty()) return {};
  UNSHARD_RETURN_IF_ERROR(SetRank(schema, units.size(), "dimension_units"));
  return MergeDimensionUnits(schema.dimension_units, units);
}

// A fill value that was read before the type was known.
Status ConvertFillValue(Schema& schema) {
  if (!schema.fill_value || schema.dtype == nullptr) return {};
  const JsonValue given = *schema.fill_value;
  UNSHARD_ASSIGN_OR_RETURN(schema.fill_value,
                           ParseSchemaFillValue(*schema.dtype, JsonCursor(given, "fill_value")));
  return {};
}

Result<Schema> Parse(const JsonValue& document) {
  const JsonCursor json(document, "");
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(
      json, {"rank", "dtype", "domain", "chunk_layout", "codec", "fill_value", "dimension_units"}));
  Schema schema;
  if (const auto member = MemberOf(json, "rank")) {
    UNSHARD_ASSIGN_OR_RETURN(schema.rank, member->Unsigned(0, kMaxRank));
  }
  if (const auto member = MemberOf(json, "dtype")) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, member->String());
    schema.dtype = FindDataTypeNames(DataTypeDialect::kSchema, name);
    if (schema.dtype == nullptr) {
      return member->Expected("a data type, for example uint8, uint64 or float32");
    }
  }
  if (const auto member = MemberOf(json, "domain")) {
    UNSHARD_ASSIGN_OR_RETURN(const IndexDomain domain, ParseIndexDomain(*member));
    UNSHARD_RETURN_IF_ERROR(SetDomain(schema, domain));
  }
  if (const auto member = MemberOf(json, "chunk_layout")) {
    UNSHARD_ASSIGN_OR_RETURN(const ChunkLayout layout, ParseChunkLayout(*member));
    UNSHARD_RETURN_IF_ERROR(SetLayout(schema, layout));
  }
  if (const auto member = MemberOf(json, "codec")) {
    UNSHARD_ASSIGN_OR_RETURN(schema.codec, ParseCodecConstraints(*member));
  }
  if (const auto member = MemberOf(json, "fill_value")) {
    schema.fill_value = member->value();
    UNSHARD_RETURN_IF_ERROR(ConvertFillValue(schema));
  }
  if (const auto member = MemberOf(json, "dimension_units")) {
    UNSHARD_ASSIGN_OR_RETURN(const DimensionUnits units, ParseDimensionUnits(*member));
    UNSHARD_RETURN_IF_ERROR(SetUnits(schema, units));
  }
  return schema;
}

}  // namespace

Status Schema::Merge(const Schema& other) {
  if (other.rank) UNSHARD_RETURN_IF_ERROR(SetRank(*this, *other.rank, "rank"));
  if (other.dtype != nullptr) UNSHARD_RETURN_IF_ERROR(SetDtype(*this, *other.dtype));
  UNSHARD_RETURN_IF_ERROR(ConvertFillValue(*this));
  if (other.domain) UNSHARD_RETURN_IF_ERROR(SetDomain(*this, *other.domain));
  UNSHARD_RETURN_IF_ERROR(SetLayout(*this, other.chunk_layout));
  if (other.fill_value) {
    Schema converted = other;
    converted.dtype = dtype;
    UNSHARD_RETURN_IF_ERROR(ConvertFillValue(converted));
    if (fill_value && *fill_value != *converted.fill_value) {
      return Fail(ErrorCode::kInvalidArgument, "fill_value: conflicting values");
    }
    fill_value = converted.fill_value;
  }
  if (other.codec) {
    if (codec) {
      UNSHARD_RETURN_IF_ERROR(MergeCodecConstraints(*codec, *other.codec));
    } else {
      codec = other.codec;
    }
  }
  return SetUnits(*this, other.dimension_units);
}

Result<Schema> ParseSchema(std::string_view text) {
  auto document = ParseJson(text);
  auto schema = document ? Parse(*document) : tl::unexpected<Error>(std::move(document).error());
  if (!schema) return Fail(ErrorCode::kInvalidArgument, schema.error().message);
  return schema;
}

}  // namespace unshard
