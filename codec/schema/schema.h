// The TensorStore Schema: what an array is, or is to be. codec/FORMATS.md, "Schemas". Pure;
// thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/array/units.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/chunk_layout.h"
#include "codec/schema/codec_constraints.h"
#include "codec/schema/index_domain.h"
#include "codec/types/data_type.h"

namespace unshard {

// Every member may be absent. If the rank is known, the members that are present have that rank.
struct Schema {
  std::optional<std::size_t> rank;
  const DataTypeNames* dtype = nullptr;
  std::optional<IndexDomain> domain;
  ChunkLayout chunk_layout;
  std::optional<CodecConstraints> codec;
  // As the document has it, until `dtype` is known; then ParseSchemaFillValue's form.
  std::optional<JsonValue> fill_value;
  DimensionUnits dimension_units;

  // Adds the constraints of `other`: hard ones must agree, and the first soft one wins. Fails
  // naming what contradicts.
  Status Merge(const Schema& other);
};

// Parses the JSON form. Every failure is kInvalidArgument and names the JSON path.
Result<Schema> ParseSchema(std::string_view text);

}  // namespace unshard
