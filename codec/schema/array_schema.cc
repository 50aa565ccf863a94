#include "codec/schema/array_schema.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/array/document.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/volume_encoding.h"
#include "codec/json/cursor.h"
#include "codec/json/meaning.h"
#include "codec/json/number.h"
#include "codec/precomputed/scale.h"
#include "codec/precomputed/shard.h"
#include "codec/schema/chunk_layout.h"
#include "codec/schema/codec_constraints.h"
#include "codec/schema/codec_resolution.h"
#include "codec/schema/index_domain.h"
#include "codec/schema/sharding_choice.h"
#include "codec/types/fill_value.h"

namespace unshard {
namespace {

using SignedShape = std::vector<std::int64_t>;

// What is known of an array before its layout is made of it.
struct Description : DescribedArray {
  std::vector<std::size_t> inner_order;
  SignedShape read_chunk;
  SignedShape write_chunk;
  SignedShape codec_chunk;  // empty: none
};

// Labels are dropped where two dimensions have the same.
void SetLabels(const std::vector<std::optional<std::string>>& names, IndexDomain& domain) {
  if (names.size() != domain.rank()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] && !names[i]->empty() && std::count(names.begin(), names.end(), names[i]) > 1)
      return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) domain.dimensions[i].label = names[i].value_or("");
}

// With the options that a document may leave out.
ChainSpec Complete(ChainSpec chain) {
  for (CodecSpec& codec : chain) {
    codec = *CompleteCodec(std::move(codec), std::nullopt);
    const NestedChains chains = codec.chains;
    for (const auto& [option, within] : chains) SetChain(codec, option, Complete(within));
  }
  return chain;
}

// Sets the codec with these members: as TensorStore prints it, if it has such a codec, and else as
// they are.
void SetCodec(Dialect dialect, const std::vector<JsonValue::Member>& members, Description& array) {
  array.codec = CodecConstraintsJson({dialect});
  for (const auto& [key, value] : members) array.codec.Set(key, value);
  auto known = ParseCodecConstraints(JsonCursor(array.codec, "codec"));
  if (!known) return;
  if (known->codecs) known->codecs = Complete(*std::move(known->codecs));
  array.codec = CodecConstraintsJson(*known);
  array.schema.codec = *std::move(known);
}

// --- Zarr v3

// The inner chunk shape of a chain that cannot be parsed: that of its first sharding_indexed.
std::optional<SignedShape> FirstInnerShape(const JsonValue& codecs, std::size_t rank) {
  for (const JsonValue& codec : codecs.items()) {
    if (TextOf(codec, "name") != "sharding_indexed") continue;
    const JsonValue* const configuration = codec.Find("configuration");
    if (configuration == nullptr || configuration->Find("chunk_shape") == nullptr) break;
    const auto extents =
        JsonCursor(*configuration->Find("chunk_shape"), "").UnsignedItems(1, kMaxIndex);
    if (!extents || extents->size() != rank) break;
    return SignedShape(extents->begin(), extents->end());
  }
  return std::nullopt;
}

void DescribeZarr3(const Array& from, Description& array) {
  const JsonValue& codecs = from.sharding.is_null() ? from.codec_json : from.sharding;
  SetCodec(Dialect::kZarr3, {{"codecs", codecs}}, array);
  auto& known = array.schema.codec;
  if (auto layout = known ? LayoutOfCodecs(*known->codecs, array.write_chunk) : std::nullopt) {
    array.inner_order = std::move(layout->inner_order);
    array.read_chunk = std::move(layout->read_chunk_shape);
  } else {
    known.reset();
    array.codec.Set("codecs", codecs);
    array.read_chunk = FirstInnerShape(codecs, from.rank()).value_or(array.write_chunk);
  }
  // Chunks and shards of a rectilinear grid have no shape of their own, and schemas no other form
  // for them.
  if (!from.sharding.is_null() && !from.shard_shape) array.write_chunk.clear();
  if (!from.rectilinear) return;
  array.write_chunk.clear();
  array.read_chunk.clear();
}

// --- Zarr v2

// "<u2" → "uint16"; other types keep their names.
std::string Zarr2TypeName(const std::string& dtype) {
  const auto known = ParseNumpyType(dtype);
  const DataTypeNames* const names = known ? FindDataTypeNames(known->type) : nullptr;
  return names != nullptr ? std::string(names->name) : dtype;
}

void DescribeZarr2(const Array& from, Description& array) {
  const auto member = [&](const char* key) {
    const JsonValue* const found = from.codec_json.Find(key);
    return found != nullptr ? *found : JsonValue();
  };
  if (TextOf(from.codec_json, "order") == "F") array.inner_order = ReversedOrder(from.rank());
  SetCodec(Dialect::kZarr2, {{"compressor", member("compressor")}}, array);
  const JsonValue filters = member("filters");
  array.codec.Set("filters", filters.items().empty() ? JsonValue() : filters);
}

// --- N5

void DescribeN5(const Array& from, Description& array) {
  array.inner_order = ReversedOrder(from.rank());
  SetCodec(Dialect::kN5, {}, array);
  if (!from.sharding.is_null()) {
    array.codec.Set("codecs", from.sharding);
    if (auto inner = FirstInnerShape(from.sharding, from.rank())) {
      array.read_chunk.assign(inner->rbegin(), inner->rend());
    }
  } else if (!from.codec_json.is_null()) {
    SetCodec(Dialect::kN5, {{"compression", from.codec_json}}, array);
  }
  // A resolution alone has no units.
  DimensionUnits& units = array.schema.dimension_units;
  const bool named = std::any_of(units.begin(), units.end(),
                                 [](const auto& unit) { return unit && !unit->base.empty(); });
  if (!named) units.clear();
}

// --- Precomputed

constexpr std::size_t kAxes = 4;

Extents3 Xyz(const SignedShape& shape) { return {shape[0], shape[1], shape[2]}; }

// The shape of a shard, clipped to the volume and in whole chunks; that of the whole volume where
// shards are no boxes.
SignedShape WriteChunkOf(const ShardingSpec& sharding, const SignedShape& volume,
                         const SignedShape& chunk) {
  const auto shard = ShardShapeInChunks(sharding, Xyz(volume), Xyz(chunk));
  SignedShape write = chunk;
  for (std::size_t i = 0; i + 1 < kAxes; ++i) {
    write[i] = (shard ? (*shard)[i] : ChunksAlong(volume[i], chunk[i])) * chunk[i];
  }
  return write;
}

// The members of the codec of a scale.
std::vector<JsonValue::Member> CodecMembers(const JsonValue& scale,
                                            const std::optional<ShardingSpec>& sharding) {
  const std::string encoding = TextOf(scale, "encoding");
  std::vector<JsonValue::Member> members = {{"encoding", JsonValue::String(encoding)}};
  const CodecDefinition* const definition = FindCodec(Dialect::kPrecomputed, encoding);
  for (const auto& [key, value] : scale.members()) {
    const CodecOption* const option = definition != nullptr ? definition->FindOption(key) : nullptr;
    if (option != nullptr && option->max != 0) members.emplace_back(key, value);
  }
  if (sharding) {
    const std::string name(ShardEncodingName(sharding->data_encoding));
    members.emplace_back("shard_data_encoding", JsonValue::String(name));
  }
  return members;
}

Status DescribeScale(const Array& from, Description& array) {
  if (from.units.empty() && !from.voxels) return Forward(from.voxels.error(), "");
  for (std::size_t i = 0; i < kAxes; ++i) {
    const std::int64_t offset = from.origin[kAxes - 1 - i];
    DomainDimension& one = array.schema.domain->dimensions[i];
    const std::int64_t extent = one.size();
    if (offset <= -kInfiniteIndex || offset > kInfiniteIndex - extent) {
      return Fail(ErrorCode::kDataLoss, "voxel_offset: expected a region below 2^62");
    }
    one = {{offset, false}, {offset + extent - 1, false}, one.label};
  }
  array.inner_order = ReversedOrder(kAxes);
  std::optional<ShardingSpec> sharding;
  if (!from.sharding.is_null()) {
    UNSHARD_ASSIGN_OR_RETURN(sharding, ParseShardingSpec(JsonCursor(from.sharding, "sharding")));
    array.write_chunk = WriteChunkOf(*sharding, array.schema.domain->shape(), array.read_chunk);
  }
  if (TextOf(from.codec_json, "encoding") == "compressed_segmentation") {
    UNSHARD_ASSIGN_OR_RETURN(const auto block,
                             ParseSegmentationBlock(JsonCursor(from.codec_json, "")));
    if (!block) return Forward(from.voxels.error(), "");
    array.codec_chunk = SignedShape(block->begin(), block->end());
    array.codec_chunk.push_back(1);
  }
  SetCodec(Dialect::kPrecomputed, CodecMembers(from.codec_json, sharding), array);
  return {};
}

// A list in the order of a schema.
template <class T>
std::vector<T> Listed(const Array& array, std::vector<T> list) {
  if (ListsFastestAxisFirst(array.dialect)) std::reverse(list.begin(), list.end());
  return list;
}

Result<SignedShape> ListedExtents(const Array& array, const std::vector<std::uint64_t>& extents) {
  const auto is_finite = [](std::uint64_t extent) { return extent < kInfiniteIndex; };
  if (extents.size() > kMaxRank || !std::all_of(extents.begin(), extents.end(), is_finite)) {
    return Fail(ErrorCode::kDataLoss,
                "shape: expected at most 32 dimensions, and extents below 2^62");
  }
  return Listed(array, SignedShape(extents.begin(), extents.end()));
}

// The fill value of a Zarr array in the form of schemas; nothing: it has none.
std::optional<JsonValue> FillValueIn(const Array& array, const DataTypeNames* type) {
  const bool is_zarr2 = array.dialect == Dialect::kZarr2;
  if (!IsZarr(array.dialect) || (is_zarr2 && array.fill_json.is_null())) return std::nullopt;
  if (type == nullptr) return array.fill_json;
  return SchemaFillValueOf(*type,
                           is_zarr2 ? WithNumbersOfStrings(array.fill_json) : array.fill_json);
}

ChunkLayout LayoutOf(const Description& array) {
  ChunkLayout layout;
  if (array.inner_order.empty()) return layout;
  layout.inner_order = {array.inner_order, Strength::kHard};
  layout.grid_origin = HardValues(array.schema.domain->origin());
  layout.write_chunk.shape = HardShape(array.write_chunk);
  layout.read_chunk.shape = HardShape(array.read_chunk);
  layout.codec_chunk.shape = HardShape(array.codec_chunk);
  return layout;
}

}  // namespace

Result<DescribedArray> DescribeArray(const Array& from) {
  if (!from.voxels && (from.type_name.empty() || from.chunk_shape.size() != from.rank())) {
    return Forward(from.voxels.error(), "");
  }
  Description array;
  Schema& schema = array.schema;
  array.dtype = from.type_name.empty() ? DataTypeName(from.data_type) : from.type_name;
  if (from.dialect == Dialect::kZarr2) array.dtype = Zarr2TypeName(array.dtype);
  schema.dtype = FindDataTypeNames(DataTypeDialect::kSchema, array.dtype);
  schema.fill_value = FillValueIn(from, schema.dtype);
  UNSHARD_ASSIGN_OR_RETURN(const SignedShape shape, ListedExtents(from, from.shape));
  schema.domain.emplace();
  for (const std::int64_t extent : shape) {  // which may change later
    schema.domain->dimensions.push_back({{0, false}, {extent - 1, true}});
  }
  SetLabels(Listed(from, from.axis_names), *schema.domain);
  array.inner_order = IdentityOrder(from.rank());
  UNSHARD_ASSIGN_OR_RETURN(array.read_chunk, ListedExtents(from, from.chunk_shape));
  UNSHARD_ASSIGN_OR_RETURN(array.write_chunk,
                           ListedExtents(from, from.shard_shape.value_or(from.chunk_shape)));
  schema.dimension_units = Listed(from, from.units);
  switch (from.dialect) {
    case Dialect::kPrecomputed:
      UNSHARD_RETURN_IF_ERROR(DescribeScale(from, array));
      break;
    case Dialect::kZarr3:
      DescribeZarr3(from, array);
      break;
    case Dialect::kZarr2:
      DescribeZarr2(from, array);
      break;
    case Dialect::kN5:
      DescribeN5(from, array);
      break;
  }
  schema.chunk_layout = LayoutOf(array);
  return DescribedArray(std::move(array));
}

Result<JsonValue> SchemaOf(const Array& from) {
  UNSHARD_ASSIGN_OR_RETURN(const DescribedArray array, DescribeArray(from));
  const Schema& schema = array.schema;
  JsonValue json = JsonValue::Object();
  json.Set("rank", JsonValue::Number(schema.domain->rank()));
  json.Set("dtype", JsonValue::String(array.dtype));
  json.Set("domain", IndexDomainJson(*schema.domain));
  JsonValue layout = ChunkLayoutJson(schema.chunk_layout);
  if (!layout.members().empty()) json.Set("chunk_layout", std::move(layout));
  json.Set("codec", array.codec);
  if (schema.fill_value) json.Set("fill_value", *schema.fill_value);
  if (AnyUnit(schema.dimension_units)) {
    json.Set("dimension_units", DimensionUnitsJson(schema.dimension_units));
  }
  QuoteBareNumbers(json);
  return json;
}

}  // namespace unshard
