#include "codec/schema/n5_creation.h"

#include <utility>
#include <vector>

#include "codec/chain/transpose.h"
#include "codec/schema/creation_steps.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

// N5 blocks are below 2 GiB.
Status CheckBlockSize(const std::vector<std::int64_t>& block, const DataTypeNames& type) {
  const std::int64_t most = (std::int64_t{1} << 31) / type.type.size;
  std::int64_t elements = 1;
  for (const std::int64_t extent : block) {
    if (extent > most / elements) {
      return CannotCreate("chunk_layout: a block may have at most " + std::to_string(most) +
                          " elements, which fill the 2 GiB of an N5 block");
    }
    elements *= extent;
  }
  return {};
}

void SetUnits(const DimensionUnits& units, JsonValue& document) {
  std::vector<JsonValue> resolution;
  std::vector<JsonValue> names;
  for (const auto& unit : units) {
    resolution.push_back(DoubleNumber(unit ? unit->multiplier : 1));
    names.push_back(JsonValue::String(unit ? unit->base : ""));
  }
  document.Set("resolution", JsonValue::Array(std::move(resolution)));
  document.Set("units", JsonValue::Array(std::move(names)));
}

}  // namespace

Result<JsonValue> NewN5Dataset(const Schema& schema) {
  UNSHARD_ASSIGN_OR_RETURN(const IndexDomain domain,
                           RequiredDomain(schema, DomainFromZero(schema.rank.value_or(0))));
  UNSHARD_ASSIGN_OR_RETURN(const DataTypeNames* const type, RequiredType(schema));
  if (!type->IsIn(DataTypeDialect::kN5)) {
    return CannotCreate("dtype: N5 has no " + std::string(type->name));
  }
  ChunkLayout layout = schema.chunk_layout;
  auto fixed = layout.SetInnerOrder(ReversedOrder(domain.rank()), Strength::kHard);
  if (fixed) fixed = layout.SetGridOrigin(HardOrigin(std::vector<std::int64_t>(domain.rank(), 0)));
  if (!fixed) {
    return CannotCreate(
        "chunk_layout: N5 always has the reverse inner_order and the grid_origin 0: " +
        fixed.error().message);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto block, ChooseSingleShape(layout, ExtentsOf(domain)));
  UNSHARD_ASSIGN_OR_RETURN(CodecConstraints codec, RequiredCodec(schema, ArrayDialect::kN5));
  UNSHARD_RETURN_IF_ERROR(CheckBlockSize(block, *type));
  UNSHARD_RETURN_IF_ERROR(CheckChosenShape(layout, block));
  if (schema.fill_value) return CannotCreate("fill_value: absent blocks of N5 are always 0");

  const JsonValue* const compression = codec.members.Find("compression");
  JsonValue document = JsonValue::Object();
  document.Set("dimensions", IntegerArray(domain.shape()));
  document.Set("blockSize", IntegerArray(block));
  document.Set("dataType", JsonValue::String(std::string(type->name)));
  document.Set("compression",
               compression != nullptr ? *compression : DefaultN5Compression(type->type.size));
  if (domain.labelled()) document.Set("axes", StringArray(domain.labels()));
  if (AnyUnit(schema.dimension_units)) SetUnits(schema.dimension_units, document);
  return document;
}

}  // namespace unshard
