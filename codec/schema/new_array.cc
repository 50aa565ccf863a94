#include "codec/schema/new_array.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/transpose.h"
#include "codec/json/number.h"
#include "codec/pyramid/array_documents.h"
#include "codec/schema/codec_resolution.h"
#include "codec/schema/creation_steps.h"
#include "codec/schema/new_scale.h"

namespace unshard {
namespace {

using SignedShape = std::vector<std::int64_t>;

// What all formats but precomputed have in common.
struct Plan {
  const DataTypeNames& type;
  IndexDomain domain;
  ChunkLayout layout;
  ChunkShapes chunks;  // the same twice, where the format has no shards
};

// The domain that Zarr and N5 prescribe: lower bounds of 0, upper bounds free.
IndexDomain DomainFromZero(std::size_t rank) {
  IndexDomain domain;
  domain.dimensions.resize(rank);
  for (DomainDimension& one : domain.dimensions) {
    one.lower = {0, false};
  }
  return domain;
}

Status SetFixedLayout(ArrayDialect dialect, std::size_t rank, ChunkLayout& layout) {
  ChunkLayout fixed = {.grid_origin = HardValues(SignedShape(rank, 0))};
  const bool is_n5 = dialect == ArrayDialect::kN5;
  if (is_n5 && rank > 0) fixed.inner_order = {ReversedOrder(rank), Strength::kHard};
  const Status merged = layout.Merge(fixed);
  if (merged) return {};
  return CannotCreate(is_n5 ? "N5 always has the reverse inner_order and the grid_origin 0: " : "",
                      merged.error().message);
}

// The chunk shape in a format without shards, where write chunks are read chunks.
Result<SignedShape> ChooseSingleShape(const ChunkLayout& layout, const Extents& extents) {
  ChunkShapeConstraints combined = layout.read_chunk;
  const Status merged = combined.Merge("chunk_layout.write_chunk", layout.write_chunk);
  if (!merged) {
    return CannotCreate(merged.error().message, "; without shards it must agree with read_chunk");
  }
  return ChooseChunkShape(combined, extents);
}

Result<ChunkShapes> ChooseShapes(ArrayDialect dialect, const ChunkLayout& layout,
                                 const IndexDomain& domain) {
  if (dialect != ArrayDialect::kZarr3) {
    UNSHARD_ASSIGN_OR_RETURN(SignedShape shape, ChooseSingleShape(layout, ExtentsOf(domain)));
    return ChunkShapes{shape, shape};
  }
  auto shapes = ChooseChunkShapes(layout.read_chunk, layout.write_chunk, ExtentsOf(domain));
  if (!shapes) return CannotCreate(shapes.error().message);
  return shapes;
}

Result<Plan> MakePlan(ArrayDialect dialect, const Schema& schema) {
  UNSHARD_ASSIGN_OR_RETURN(const DataTypeNames* const type, RequiredType(schema));
  const bool is_n5 = dialect == ArrayDialect::kN5;
  if (!type->IsIn(is_n5 ? DataTypeDialect::kN5 : DataTypeDialect::kNewZarr)) {
    const std::string format = is_n5                             ? "N5"
                               : dialect == ArrayDialect::kZarr3 ? "Zarr v3"
                                                                 : "Zarr v2";
    return CannotCreate("dtype: ", format, " has no ", type->name);
  }
  UNSHARD_ASSIGN_OR_RETURN(IndexDomain domain,
                           RequiredDomain(schema, DomainFromZero(schema.rank.value_or(0))));
  ChunkLayout layout = schema.chunk_layout;
  UNSHARD_RETURN_IF_ERROR(SetFixedLayout(dialect, domain.rank(), layout));
  UNSHARD_ASSIGN_OR_RETURN(ChunkShapes chunks, ChooseShapes(dialect, layout, domain));
  return Plan{*type, std::move(domain), std::move(layout), std::move(chunks)};
}

// Fails where the layout has a hard constraint on chunks that the chosen shape contradicts.
Status CheckChosenShape(const Plan& plan) {
  ChunkLayout layout = plan.layout;
  const ChunkShapeConstraints chosen = {HardShape(plan.chunks.write)};
  UNSHARD_RETURN_IF_ERROR(layout.Merge({.write_chunk = chosen, .read_chunk = chosen}));
  return CheckNoCodecChunks(layout);
}

// --- Zarr v3

// The codecs of an array with these chunks. Where read and write chunks differ and no constraint
// has a sharding_indexed, one is added.
Result<ChainSpec> ChooseCodecs(const Schema& schema, const Plan& plan) {
  UNSHARD_ASSIGN_OR_RETURN(const CodecConstraints constraints,
                           RequiredCodec(schema, ArrayDialect::kZarr3));
  const ChunkShapes& shapes = plan.chunks;
  ChainSpec chain = constraints.codecs.value_or(ChainSpec());
  if (shapes.read != shapes.write && !FindSharding(chain)) {
    CodecSpec sharding = CodecOfSchema(
        kShardingIndexed, JsonValue::Object({{"chunk_shape", ExtentsJson(shapes.read)}}));
    SetChain(sharding, kInnerCodecs, std::move(chain));
    chain = {std::move(sharding)};
  }
  auto resolved = ResolveCodecs(
      chain, {plan.type.type.size, shapes.write, shapes.read, plan.layout.inner_order.value});
  if (!resolved) return CannotCreate(resolved.error().message);
  // Codecs may have been given for chunks of another shape than the chosen one.
  ChainSpec merged = *resolved;
  if (constraints.codecs) {
    auto status = MergeCodecs(merged, *constraints.codecs);
    if (!status) return CannotCreate(status.error().message);
  }
  return resolved;
}

// The layout of the finished array must satisfy every hard constraint.
Status CheckLayout(ChunkLayout layout, const StoredLayout& made, const SignedShape& write) {
  ChunkLayout of_codec = {.write_chunk = {HardShape(write)},
                          .read_chunk = {HardShape(made.read_chunk_shape)}};
  if (!write.empty()) of_codec.inner_order = {made.inner_order, Strength::kHard};
  const Status merged = layout.Merge(of_codec);
  if (!merged) return CannotCreate(merged.error().message, "; the second one is that of codec");
  return CheckNoCodecChunks(layout);
}

JsonValue ZeroOf(const DataType& type) {
  const JsonValue zero = DoubleNumber(0);
  switch (type.kind) {
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

Status FinishZarr3(const Schema& schema, const Plan& plan, ArrayMetadata& array) {
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec codecs, ChooseCodecs(schema, plan));
  const StoredLayout layout = *LayoutOfCodecs(codecs, plan.chunks.write);
  UNSHARD_RETURN_IF_ERROR(CheckLayout(plan.layout, layout, plan.chunks.write));
  if (FindSharding(codecs)) {
    array.shard_shape = array.chunk_shape;
    array.chunk_shape = {layout.read_chunk_shape.begin(), layout.read_chunk_shape.end()};
  }
  (array.shard_shape ? array.sharding : array.codec_json) = CodecsJson(codecs);
  array.fill_json = schema.fill_value.value_or(ZeroOf(array.data_type));
  if (AnyUnit(schema.dimension_units)) {
    array.attributes.Set("dimension_units", UnitTexts(schema.dimension_units, SixDigits));
  }
  return {};
}

// --- Zarr v2

// "C" or "F". A soft constraint for another order is dropped.
Result<const char*> ChooseOrder(const ChunkLayout& layout) {
  if (!layout.inner_order.value) return "C";
  const std::vector<std::size_t>& order = *layout.inner_order.value;
  if (std::is_sorted(order.begin(), order.end())) return "C";
  if (std::is_sorted(order.rbegin(), order.rend())) return "F";
  if (!layout.inner_order.hard()) return "C";
  return CannotCreate(
      "chunk_layout.inner_order: Zarr v2 has only the order of the dimensions and its reverse");
}

Status FinishZarr2(const Schema& schema, const Plan& plan, ArrayMetadata& array) {
  UNSHARD_ASSIGN_OR_RETURN(const CodecConstraints codec,
                           RequiredCodec(schema, ArrayDialect::kZarr2));
  UNSHARD_ASSIGN_OR_RETURN(const char* const order, ChooseOrder(plan.layout));
  UNSHARD_RETURN_IF_ERROR(CheckChosenShape(plan));
  if (AnyUnit(schema.dimension_units)) {
    return CannotCreate("dimension_units: Zarr v2 has no units");
  }
  const JsonValue* const compressor = codec.members.Find("compressor");
  array.codec_json = JsonValue::Object(
      {{"dtype", JsonValue::String(std::string(plan.type.dtype))},
       {"compressor", compressor != nullptr ? *compressor : DefaultZarr2Compressor()},
       {"order", JsonValue::String(order)}});
  array.fill_json = schema.fill_value.value_or(JsonValue());
  array.key_encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
  array.axis_names.clear();
  return {};
}

// --- N5

// N5 blocks are below 2 GiB.
Status CheckBlockSize(const SignedShape& block, const DataType& type) {
  const std::int64_t most = (std::int64_t{1} << 31) / type.size;
  std::int64_t elements = 1;
  for (const std::int64_t extent : block) {
    if (extent > most / elements) {
      return CannotCreate("chunk_layout: a block may have at most ", most,
                          " elements, which fill the 2 GiB of an N5 block");
    }
    elements *= extent;
  }
  return {};
}

Status FinishN5(const Schema& schema, const Plan& plan, ArrayMetadata& array) {
  UNSHARD_ASSIGN_OR_RETURN(const CodecConstraints codec, RequiredCodec(schema, ArrayDialect::kN5));
  UNSHARD_RETURN_IF_ERROR(CheckBlockSize(plan.chunks.write, array.data_type));
  UNSHARD_RETURN_IF_ERROR(CheckChosenShape(plan));
  if (schema.fill_value) return CannotCreate("fill_value: absent blocks of N5 are always 0");
  const JsonValue* const compression = codec.members.Find("compression");
  array.codec_json =
      compression != nullptr ? *compression : DefaultN5Compression(array.data_type.size);
  if (!AnyUnit(schema.dimension_units)) return {};
  for (const char* member : {"resolution", "units"})
    array.attributes.Set(member, JsonValue::Array());
  for (const auto& unit : schema.dimension_units) {
    array.attributes.Find("resolution")
        ->mutable_items()
        .push_back(DoubleNumber(unit ? unit->multiplier : 1));
    array.attributes.Find("units")->mutable_items().push_back(
        JsonValue::String(unit ? unit->base : ""));
  }
  return {};
}

}  // namespace

Result<ArrayMetadata> NewArray(ArrayDialect dialect, const Schema& schema) {
  if (dialect == ArrayDialect::kPrecomputed) return NewScale(schema);
  UNSHARD_ASSIGN_OR_RETURN(const Plan plan, MakePlan(dialect, schema));
  ArrayMetadata array;
  array.dialect = dialect;
  array.type_name = plan.type.name;
  array.data_type = plan.type.type;
  const SignedShape shape = plan.domain.shape();
  array.shape = {shape.begin(), shape.end()};
  array.origin.assign(shape.size(), 0);
  array.chunk_shape = {plan.chunks.write.begin(), plan.chunks.write.end()};
  if (plan.domain.labelled()) {
    for (const std::string& label : plan.domain.labels()) {
      array.axis_names.push_back(label.empty() ? std::nullopt : std::optional(label));
    }
  }
  switch (dialect) {
    case ArrayDialect::kZarr3:
      UNSHARD_RETURN_IF_ERROR(FinishZarr3(schema, plan, array));
      break;
    case ArrayDialect::kZarr2:
      UNSHARD_RETURN_IF_ERROR(FinishZarr2(schema, plan, array));
      break;
    default:
      UNSHARD_RETURN_IF_ERROR(FinishN5(schema, plan, array));
      break;
  }
  if (ListsFastestAxisFirst(dialect)) {
    std::reverse(array.shape.begin(), array.shape.end());
    std::reverse(array.chunk_shape.begin(), array.chunk_shape.end());
    std::reverse(array.axis_names.begin(), array.axis_names.end());
  }
  return array;
}

Result<JsonValue> DocumentOfNew(const ArrayMetadata& array) {
  if (array.dialect == ArrayDialect::kPrecomputed) return InfoOfNew({&array, 1});
  UNSHARD_ASSIGN_OR_RETURN(auto documents, DocumentsOf(array));
  JsonValue& document = documents.front().content;
  if (array.dialect == ArrayDialect::kZarr3) {
    document.Set("data_type", JsonValue::String(array.type_name));
    document.Set("chunk_key_encoding", ExtensionJson("default"));
    document.Erase("attributes");
    if (!array.attributes.members().empty()) document.Set("attributes", array.attributes);
  }
  return std::move(document);
}

}  // namespace unshard
