#include "codec/schema/zarr3_creation.h"

#include <utility>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/schema/codec_resolution.h"
#include "codec/schema/creation_steps.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

JsonValue RegularGrid(const std::vector<std::int64_t>& chunk_shape) {
  return ExtensionJson("regular", JsonValue::Object({{"chunk_shape", IntegerArray(chunk_shape)}}));
}

// Names of dimensions, null for those without.
JsonValue DimensionNames(const IndexDomain& domain) {
  std::vector<JsonValue> names;
  for (const DomainDimension& one : domain.dimensions) {
    names.push_back(one.label.empty() ? JsonValue() : JsonValue::String(one.label));
  }
  return JsonValue::Array(std::move(names));
}

JsonValue TextsOfUnits(const DimensionUnits& units) {
  std::vector<JsonValue> texts;
  for (const auto& unit : units) {
    texts.push_back(unit ? JsonValue::String(UnitText(*unit)) : JsonValue());
  }
  return JsonValue::Array(std::move(texts));
}

JsonValue ZeroOf(const DataTypeNames& type) {
  const JsonValue zero = DoubleNumber(0);
  switch (type.type.kind) {
    case DataType::Kind::kBool:
      return JsonValue::Boolean(false);
    case DataType::Kind::kFloat:
    case DataType::Kind::kBrainFloat:
      return zero;
    case DataType::Kind::kComplex:
      return JsonValue::Array({zero, zero});
    default:
      return IntegerNumber(0);
  }
}

// The codecs of an array with these chunks. Where read and write chunks differ and no constraint
// has a sharding_indexed, one is added.
Result<ChainSpec> ChooseCodecs(const Schema& schema, const DataTypeNames& type,
                               const ChunkLayout& layout, const ChunkShapes& shapes) {
  UNSHARD_ASSIGN_OR_RETURN(const CodecConstraints constraints,
                           RequiredCodec(schema, ArrayDialect::kZarr3));
  ChainSpec chain = constraints.codecs.value_or(ChainSpec());
  if (shapes.read != shapes.write && !FindSharding(chain)) {
    chain = {CodecOfSchema("sharding_indexed",
                           JsonValue::Object({{"chunk_shape", IntegerArray(shapes.read)},
                                              {"codecs", CodecsJson(chain)}}))};
  }
  auto resolved =
      ResolveCodecs(chain, {type.type.size, shapes.write, shapes.read, layout.inner_order.value});
  if (!resolved) return CannotCreate(resolved.error().message);
  // Codecs may have been given for chunks of another shape than the one that was chosen.
  ChainSpec merged = *resolved;
  if (constraints.codecs) {
    auto status = MergeCodecs(merged, *constraints.codecs);
    if (!status) return CannotCreate(status.error().message);
  }
  return resolved;
}

// The layout of the finished array must satisfy every hard constraint.
Status CheckLayout(ChunkLayout layout, const ChainSpec& codecs,
                   const std::vector<std::int64_t>& write) {
  const StoredLayout made = *LayoutOfCodecs(codecs, write);
  ChunkShapeConstraints read;
  read.shape = HardShape(made.read_chunk_shape);
  ChunkShapeConstraints writes;
  writes.shape = HardShape(write);
  auto merged = layout.SetChunk(layout.write_chunk, writes);
  if (merged) merged = layout.SetInnerOrder(made.inner_order, Strength::kHard);
  if (merged) merged = layout.SetChunk(layout.read_chunk, read);
  if (!merged) return CannotCreate("chunk_layout contradicts codec: " + merged.error().message);
  return CheckNoCodecChunks(layout);
}

}  // namespace

Result<JsonValue> NewZarr3Array(const Schema& schema) {
  UNSHARD_ASSIGN_OR_RETURN(const DataTypeNames* const type, RequiredType(schema));
  if (!type->IsIn(DataTypeDialect::kNewZarr)) {
    return CannotCreate("dtype: Zarr v3 has no " + std::string(type->name));
  }
  UNSHARD_ASSIGN_OR_RETURN(const IndexDomain domain,
                           RequiredDomain(schema, DomainFromZero(schema.rank.value_or(0))));
  ChunkLayout layout = schema.chunk_layout;
  auto at_zero = layout.SetGridOrigin(HardOrigin(std::vector<std::int64_t>(domain.rank(), 0)));
  if (!at_zero) return CannotCreate("chunk_layout: " + at_zero.error().message);
  auto shapes = ChooseChunkShapes(layout.read_chunk, layout.write_chunk, ExtentsOf(domain));
  if (!shapes) return CannotCreate(shapes.error().message);
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec chain, ChooseCodecs(schema, *type, layout, *shapes));
  UNSHARD_RETURN_IF_ERROR(CheckLayout(layout, chain, shapes->write));

  JsonValue document = JsonValue::Object();
  document.Set("zarr_format", IntegerNumber(3));
  document.Set("node_type", JsonValue::String("array"));
  document.Set("shape", IntegerArray(domain.shape()));
  document.Set("data_type", JsonValue::String(std::string(type->name)));
  document.Set("chunk_grid", RegularGrid(shapes->write));
  document.Set("chunk_key_encoding", ExtensionJson("default"));
  document.Set("fill_value", schema.fill_value.value_or(ZeroOf(*type)));
  document.Set("codecs", CodecsJson(chain));
  if (domain.labelled()) document.Set("dimension_names", DimensionNames(domain));
  if (AnyUnit(schema.dimension_units)) {
    JsonValue attributes = JsonValue::Object();
    attributes.Set("dimension_units", TextsOfUnits(schema.dimension_units));
    document.Set("attributes", std::move(attributes));
  }
  return document;
}

}  // namespace unshard
