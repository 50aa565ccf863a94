#include "codec/schema/zarr2_creation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codec/schema/creation_steps.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

// "C" or "F". A soft constraint for another order is dropped.
Result<const char*> ChooseOrder(const ChunkLayout& layout) {
  if (!layout.inner_order.value) return "C";
  const std::vector<std::size_t>& order = *layout.inner_order.value;
  if (std::is_sorted(order.begin(), order.end())) return "C";
  if (std::is_sorted(order.rbegin(), order.rend())) return "F";
  if (!layout.inner_order.hard()) return "C";
  return CannotCreate(
      "chunk_layout.inner_order: Zarr v2 has only the order of the dimensions and "
      "its reverse");
}

}  // namespace

Result<JsonValue> NewZarr2Array(const Schema& schema) {
  UNSHARD_ASSIGN_OR_RETURN(const DataTypeNames* const type, RequiredType(schema));
  if (!type->IsIn(DataTypeDialect::kNewZarr)) {
    return CannotCreate("dtype: Zarr v2 has no " + std::string(type->name));
  }
  UNSHARD_ASSIGN_OR_RETURN(const IndexDomain domain,
                           RequiredDomain(schema, DomainFromZero(schema.rank.value_or(0))));
  ChunkLayout layout = schema.chunk_layout;
  auto at_zero = layout.SetGridOrigin(HardOrigin(std::vector<std::int64_t>(domain.rank(), 0)));
  if (!at_zero) return CannotCreate("chunk_layout: " + at_zero.error().message);
  UNSHARD_ASSIGN_OR_RETURN(const auto chunks, ChooseSingleShape(layout, ExtentsOf(domain)));
  UNSHARD_ASSIGN_OR_RETURN(CodecConstraints codec, RequiredCodec(schema, ArrayDialect::kZarr2));
  UNSHARD_ASSIGN_OR_RETURN(const char* const order, ChooseOrder(layout));
  UNSHARD_RETURN_IF_ERROR(CheckChosenShape(layout, chunks));
  if (AnyUnit(schema.dimension_units)) {
    return CannotCreate("dimension_units: Zarr v2 has no units");
  }

  const JsonValue* const compressor = codec.members.Find("compressor");
  JsonValue document = JsonValue::Object();
  document.Set("zarr_format", IntegerNumber(2));
  document.Set("shape", IntegerArray(domain.shape()));
  document.Set("chunks", IntegerArray(chunks));
  document.Set("dtype", JsonValue::String(std::string(type->dtype)));
  document.Set("compressor", compressor != nullptr ? *compressor : DefaultZarr2Compressor());
  document.Set("fill_value", schema.fill_value.value_or(JsonValue()));
  document.Set("order", JsonValue::String(order));
  document.Set("filters", JsonValue());
  document.Set("dimension_separator", JsonValue::String("."));
  return document;
}

}  // namespace unshard
