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

// The properties of an array that a schema describes.
struct Description {
  std::string dtype;
  IndexDomain domain;
  std::vector<std::size_t> inner_order;
  SignedShape read_chunk;
  SignedShape write_chunk;
  SignedShape codec_chunk;  // empty: none
  JsonValue codec;
  std::optional<JsonValue> fill_value;
  DimensionUnits units;
};

JsonValue JsonOf(const Description& array) {
  ChunkLayout layout;
  if (array.domain.rank() > 0) {
    layout.inner_order = {array.inner_order, Strength::kHard};
    layout.grid_origin = HardValues(array.domain.origin());
    layout.write_chunk.shape = HardShape(array.write_chunk);
    layout.read_chunk.shape = HardShape(array.read_chunk);
    layout.codec_chunk.shape = HardShape(array.codec_chunk);
  }
  JsonValue json = JsonValue::Object();
  json.Set("rank", JsonValue::Number(array.domain.rank()));
  json.Set("dtype", JsonValue::String(array.dtype));
  json.Set("domain", IndexDomainJson(array.domain));
  JsonValue chunk_layout = ChunkLayoutJson(layout);
  if (!chunk_layout.members().empty()) json.Set("chunk_layout", std::move(chunk_layout));
  json.Set("codec", array.codec);
  if (array.fill_value) json.Set("fill_value", *array.fill_value);
  if (AnyUnit(array.units)) json.Set("dimension_units", DimensionUnitsJson(array.units));
  return json;
}

// Labels are dropped where two dimensions have the same.
void SetLabels(const std::vector<std::optional<std::string>>& names, IndexDomain& domain) {
  if (names.size() != domain.rank()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] && !names[i]->empty() && std::count(names.begin(), names.end(), names[i]) > 1)
      return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) domain.dimensions[i].label = names[i].value_or("");
}

JsonValue CodecOf(ArrayDialect dialect) {
  return JsonValue::Object({{"driver", JsonValue::String(std::string(DriverName(dialect)))}});
}

// With a member as TensorStore prints it, if it has such a codec, and else as it is.
JsonValue CodecWith(ArrayDialect dialect, const char* key, const JsonValue& value) {
  JsonValue codec = CodecOf(dialect);
  codec.Set(key, value);
  const auto known = ParseCodecConstraints(JsonCursor(codec, "codec"));
  if (known) codec.Set(key, *known->members.Find(key));
  return codec;
}

// --- Zarr v3

// With the options that a document may leave out.
ChainSpec Complete(ChainSpec chain) {
  for (CodecSpec& codec : chain) {
    if (codec.name != "zstd" && codec.name != kShardingIndexed) continue;
    SetDefaults(codec);
    const NestedChains chains = codec.chains;
    for (const auto& [option, within] : chains) SetChain(codec, option, Complete(within));
  }
  return chain;
}

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

// Sets the members of `array` that its codecs decide.
void DescribeCodecs(const JsonValue& codecs, Description& array) {
  array.codec = CodecOf(ArrayDialect::kZarr3);
  auto chain = ParseCodecs(JsonCursor(codecs, "codecs"));
  auto layout = chain ? LayoutOfCodecs(*chain, array.write_chunk) : std::nullopt;
  if (!layout) {
    array.codec.Set("codecs", codecs);
    array.read_chunk = FirstInnerShape(codecs, array.domain.rank()).value_or(array.write_chunk);
    return;
  }
  array.codec.Set("codecs", CodecsJson(Complete(*std::move(chain))));
  array.inner_order = std::move(layout->inner_order);
  array.read_chunk = std::move(layout->read_chunk_shape);
}

void DescribeZarr3(const ArrayMetadata& from, Description& array) {
  DescribeCodecs(from.sharding.is_null() ? from.codec_json : from.sharding, array);
  // Shards of a rectilinear grid have no shape of their own, and schemas no other form for them.
  if (!from.sharding.is_null() && !from.shard_shape) array.write_chunk.clear();
  const DataTypeNames* const type = FindDataTypeNames(DataTypeDialect::kSchema, array.dtype);
  array.fill_value = type != nullptr ? SchemaFillValueOf(*type, from.fill_json) : from.fill_json;
}

// --- Zarr v2

// "<u2" → "uint16"; other types keep their names.
std::string Zarr2TypeName(const std::string& dtype) {
  const auto known = ParseNumpyType(dtype);
  const DataTypeNames* const names = known ? FindDataTypeNames(known->type) : nullptr;
  return names != nullptr ? std::string(names->name) : dtype;
}

void DescribeZarr2(const ArrayMetadata& from, Description& array) {
  const auto member = [&](const char* key) {
    const JsonValue* const found = from.codec_json.Find(key);
    return found != nullptr ? *found : JsonValue();
  };
  array.dtype = Zarr2TypeName(array.dtype);
  if (TextOf(from.codec_json, "order") == "F") array.inner_order = ReversedOrder(from.rank());
  if (!from.fill_json.is_null()) {
    const DataTypeNames* const type = FindDataTypeNames(DataTypeDialect::kSchema, array.dtype);
    array.fill_value = type != nullptr
                           ? SchemaFillValueOf(*type, WithNumbersOfStrings(from.fill_json))
                           : from.fill_json;
  }
  array.codec = CodecWith(ArrayDialect::kZarr2, "compressor", member("compressor"));
  const JsonValue filters = member("filters");
  array.codec.Set("filters", filters.items().empty() ? JsonValue() : filters);
}

// --- N5

void DescribeN5(const ArrayMetadata& from, Description& array) {
  array.inner_order = ReversedOrder(from.rank());
  array.codec = CodecOf(ArrayDialect::kN5);
  if (!from.sharding.is_null()) {
    array.codec.Set("codecs", from.sharding);
    if (auto inner = FirstInnerShape(from.sharding, from.rank())) {
      array.read_chunk.assign(inner->rbegin(), inner->rend());
    }
  } else if (!from.codec_json.is_null()) {
    array.codec = CodecWith(ArrayDialect::kN5, "compression", from.codec_json);
  }
  // A resolution alone has no units.
  const bool named = std::any_of(array.units.begin(), array.units.end(),
                                 [](const auto& unit) { return unit && !unit->base.empty(); });
  if (!named) array.units.clear();
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

// The codec of a scale, with the defaults of members that are absent.
JsonValue ScaleCodec(const JsonValue& members, const std::optional<ShardingSpec>& sharding) {
  JsonValue codec = CodecOf(ArrayDialect::kPrecomputed);
  const std::string encoding = TextOf(members, "encoding");
  codec.Set("encoding", JsonValue::String(encoding));
  const JsonValue* const quality = members.Find("jpeg_quality");
  if (encoding == "jpeg") {
    codec.Set("jpeg_quality", quality != nullptr ? *quality : IntegerNumber(75));
  }
  if (const JsonValue* level = members.Find("png_level"); level != nullptr && encoding == "png") {
    codec.Set("png_level", *level);
  }
  if (sharding) {
    const bool gzip = sharding->data_encoding == ShardEncoding::kGzip;
    codec.Set("shard_data_encoding", JsonValue::String(gzip ? "gzip" : "raw"));
  }
  return codec;
}

Status DescribeScale(const ArrayMetadata& from, Description& array) {
  if (array.units.empty() && !from.voxels) return Forward(from.voxels.error(), "");
  for (std::size_t i = 0; i < kAxes; ++i) {
    const std::int64_t offset = from.origin[kAxes - 1 - i];
    DomainDimension& one = array.domain.dimensions[i];
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
    array.write_chunk = WriteChunkOf(*sharding, array.domain.shape(), array.read_chunk);
  }
  if (TextOf(from.codec_json, "encoding") == "compressed_segmentation") {
    UNSHARD_ASSIGN_OR_RETURN(const auto block,
                             ParseSegmentationBlock(JsonCursor(from.codec_json, "")));
    if (!block) return Forward(from.voxels.error(), "");
    array.codec_chunk = SignedShape(block->begin(), block->end());
    array.codec_chunk.push_back(1);
  }
  array.codec = ScaleCodec(from.codec_json, sharding);
  return {};
}

// A list in the order of a schema.
template <class T>
std::vector<T> Listed(const ArrayMetadata& array, std::vector<T> list) {
  if (ListsFastestAxisFirst(array.dialect)) std::reverse(list.begin(), list.end());
  return list;
}

Result<SignedShape> ListedExtents(const ArrayMetadata& array,
                                  const std::vector<std::uint64_t>& extents) {
  const auto is_finite = [](std::uint64_t extent) { return extent < kInfiniteIndex; };
  if (extents.size() > kMaxRank || !std::all_of(extents.begin(), extents.end(), is_finite)) {
    return Fail(ErrorCode::kDataLoss,
                "shape: expected at most 32 dimensions, and extents below 2^62");
  }
  return Listed(array, SignedShape(extents.begin(), extents.end()));
}

}  // namespace

Result<JsonValue> SchemaOf(const ArrayMetadata& from) {
  if (!from.voxels && (from.type_name.empty() || from.chunk_shape.size() != from.rank())) {
    return Forward(from.voxels.error(), "");
  }
  Description array;
  array.dtype = from.type_name.empty() ? DataTypeName(from.data_type) : from.type_name;
  UNSHARD_ASSIGN_OR_RETURN(const SignedShape shape, ListedExtents(from, from.shape));
  for (const std::int64_t extent : shape) {  // which may change later
    array.domain.dimensions.push_back({{0, false}, {extent - 1, true}});
  }
  SetLabels(Listed(from, from.axis_names), array.domain);
  array.inner_order = IdentityOrder(from.rank());
  UNSHARD_ASSIGN_OR_RETURN(array.read_chunk, ListedExtents(from, from.chunk_shape));
  UNSHARD_ASSIGN_OR_RETURN(array.write_chunk,
                           ListedExtents(from, from.shard_shape.value_or(from.chunk_shape)));
  array.units = Listed(from, from.units);
  switch (from.dialect) {
    case ArrayDialect::kPrecomputed:
      UNSHARD_RETURN_IF_ERROR(DescribeScale(from, array));
      break;
    case ArrayDialect::kZarr3:
      DescribeZarr3(from, array);
      break;
    case ArrayDialect::kZarr2:
      DescribeZarr2(from, array);
      break;
    case ArrayDialect::kN5:
      DescribeN5(from, array);
      break;
  }
  return JsonOf(array);
}

}  // namespace unshard
