#include "codec/schema/array_schema.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/array/document.h"
#include "codec/chain/transpose.h"
#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/precomputed/scale.h"
#include "codec/precomputed/shard.h"
#include "codec/schema/chunk_layout.h"
#include "codec/schema/codec_constraints.h"
#include "codec/schema/dimension_units.h"
#include "codec/schema/index_domain.h"
#include "codec/schema/json_reading.h"
#include "codec/schema/sharding_choice.h"
#include "codec/schema/zarr3_codec_resolution.h"
#include "codec/schema/zarr3_codecs.h"
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
    layout.grid_origin = HardOrigin(array.domain.origin());
    layout.read_chunk.shape = HardShape(array.read_chunk);
    layout.write_chunk.shape = HardShape(array.write_chunk);
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

// --- Members of documents

Result<SignedShape> ShapeAt(const JsonCursor& json, std::int64_t least) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
  SignedShape shape;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const auto extent, item.Integer(least, kInfiniteIndex - 1));
    shape.push_back(extent);
  }
  return shape;
}

Result<SignedShape> ShapeMember(const JsonCursor& json, std::string_view name, std::int64_t least) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member(name));
  return ShapeAt(member, least);
}

Result<SignedShape> ChunksMember(const JsonCursor& json, std::string_view name,
                                 const SignedShape& shape) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member(name));
  UNSHARD_ASSIGN_OR_RETURN(
      const auto chunks, ParseChunkShape(member, {shape.begin(), shape.end()}, kInfiniteIndex - 1));
  if (chunks.size() == shape.size()) return SignedShape(chunks.begin(), chunks.end());
  return member.Expected("one extent for each of the " + std::to_string(shape.size()) +
                         " dimensions");
}

// Lower bounds of 0, and upper bounds that may change later.
IndexDomain ResizableDomain(const SignedShape& shape) {
  IndexDomain domain = DomainOfShape(shape);
  for (DomainDimension& one : domain.dimensions) one.implicit_upper = true;
  return domain;
}

// Labels are dropped where two dimensions have the same.
void SetLabels(const JsonValue* names, IndexDomain& domain) {
  if (names == nullptr || names->items().size() != domain.rank()) return;
  std::vector<std::string> labels;
  for (const JsonValue& name : names->items()) {
    const std::string label = name.is_string() ? name.text() : "";
    if (!label.empty() && std::find(labels.begin(), labels.end(), label) != labels.end()) return;
    labels.push_back(label);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) domain.dimensions[i].label = labels[i];
}

JsonValue CodecOf(std::string_view driver) {
  JsonValue codec = JsonValue::Object();
  codec.Set("driver", JsonValue::String(std::string(driver)));
  return codec;
}

// --- Zarr v3

// The attribute `dimension_units` of TensorStore; no units where it has another form.
DimensionUnits UnitsOf(const JsonValue& document, std::size_t rank) {
  const JsonValue* const attributes = document.Find("attributes");
  const JsonValue* const texts =
      attributes != nullptr ? attributes->Find("dimension_units") : nullptr;
  DimensionUnits units;
  if (texts == nullptr || texts->items().size() != rank) return units;
  for (const JsonValue& text : texts->items()) {
    if (!text.is_string() && !text.is_null()) return {};
    units.push_back(text.is_null() ? std::nullopt : std::optional(ParseDimensionUnit(text.text())));
  }
  return units;
}

// The name of a data type, alone or in an object.
Result<std::string> NameMember(const JsonCursor& json, std::string_view key) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member(key));
  if (!member.value().is_object()) return member.String();
  return member.StringMember("name");
}

// Sets the options that a document may leave out.
void Complete(Zarr3CodecChain& chain) {
  for (auto* list : {&chain.array_to_bytes, &chain.bytes_to_bytes}) {
    for (Zarr3Codec& codec : *list) {
      if (codec.name == "zstd") SetDefaultOptions(codec);
      if (codec.sharding() && codec.options.Find("index_location") == nullptr) {
        codec.options.Set("index_location", JsonValue::String("end"));
      }
      for (Zarr3CodecChain& inner : codec.codecs) Complete(inner);
      for (Zarr3CodecChain& index : codec.index_codecs) Complete(index);
    }
  }
}

// Whether LayoutOfZarr3Codecs takes the chain: every level has a codec from arrays to bytes, every
// sharding_indexed its `codecs`, and every order and chunk shape has `rank` dimensions.
bool HasLayout(const Zarr3CodecChain& chain, std::size_t rank) {
  if (chain.array_to_bytes.empty()) return false;
  for (const Zarr3Codec& codec : chain.array_to_array) {
    if (TransposeOrder(codec, rank).size() != rank) return false;
  }
  const Zarr3Codec& codec = chain.array_to_bytes.front();
  if (!codec.sharding()) return true;
  return ItemsOf(codec.options, "chunk_shape").size() == rank && codec.codecs.size() == 1 &&
         HasLayout(codec.codecs.front(), rank);
}

// The inner chunk shape of a chain that cannot be parsed: that of its first sharding_indexed.
std::optional<SignedShape> FirstInnerShape(const JsonValue& codecs, std::size_t rank) {
  for (const JsonValue& codec : codecs.items()) {
    if (TextOf(codec, "name") != "sharding_indexed") continue;
    const JsonValue* const configuration = codec.Find("configuration");
    const JsonValue* const shape =
        configuration != nullptr ? configuration->Find("chunk_shape") : nullptr;
    if (shape == nullptr) return std::nullopt;
    auto extents = ShapeAt(JsonCursor(*shape, "chunk_shape"), 1);
    if (!extents || extents->size() != rank) return std::nullopt;
    return *std::move(extents);
  }
  return std::nullopt;
}

// Sets the members of `array` that its codecs decide.
Status DescribeCodecs(const JsonCursor& codecs, Description& array) {
  array.codec = CodecOf("zarr3");
  array.inner_order = IdentityOrder(array.domain.rank());
  array.read_chunk = array.write_chunk;
  auto chain = ParseZarr3Codecs(codecs);
  if (!chain || !HasLayout(*chain, array.domain.rank())) {
    if (!codecs.value().is_array()) return codecs.Expected("an array of codecs");
    array.codec.Set("codecs", codecs.value());
    if (auto inner = FirstInnerShape(codecs.value(), array.domain.rank())) {
      array.read_chunk = *std::move(inner);
    }
    return {};
  }
  Complete(*chain);
  array.codec.Set("codecs", Zarr3CodecsJson(*chain, Zarr3CodecForm::kSchema));
  Zarr3ChunkLayout layout = LayoutOfZarr3Codecs(*chain, array.write_chunk);
  array.inner_order = std::move(layout.inner_order);
  array.read_chunk = std::move(layout.read_chunk_shape);
  return {};
}

// --- Zarr v2

// "<u2" → "uint16"; other types keep their names.
std::string Zarr2TypeName(const std::string& dtype) {
  const auto known = ParseNumpyType(dtype);
  const DataTypeNames* const names = known ? FindDataTypeNames(known->type) : nullptr;
  return names != nullptr ? std::string(names->name) : dtype;
}

// --- Precomputed

constexpr std::size_t kAxes = 4;

Extents3 Xyz(const SignedShape& shape) { return {shape[0], shape[1], shape[2]}; }

template <class T>
SignedShape Reversed(const std::vector<T>& list) {
  return SignedShape(list.rbegin(), list.rend());
}

// The shape of a shard, clipped to the volume and in whole chunks; that of the whole volume where
// shards are no boxes.
SignedShape WriteChunkOf(const ShardingSpec& sharding, const SignedShape& volume,
                         const SignedShape& chunk) {
  const auto shard = ShardShapeInChunks(sharding, Xyz(volume), Xyz(chunk));
  SignedShape write = chunk;
  for (std::size_t i = 0; i + 1 < kAxes; ++i) {
    const std::int64_t chunks = volume[i] / chunk[i] + (volume[i] % chunk[i] != 0 ? 1 : 0);
    write[i] = (shard ? std::min((*shard)[i], chunks) : chunks) * chunk[i];
  }
  return write;
}

// The codec of a scale, with the defaults of members that are absent.
JsonValue ScaleCodec(const JsonValue& members, const std::optional<ShardingSpec>& sharding) {
  JsonValue codec = CodecOf("neuroglancer_precomputed");
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

}  // namespace

Result<JsonValue> SchemaOfZarr3Array(const JsonValue& document) {
  const JsonCursor json(document, "");
  Description array;
  UNSHARD_ASSIGN_OR_RETURN(const SignedShape shape, ShapeMember(json, "shape", 0));
  array.domain = ResizableDomain(shape);
  SetLabels(document.Find("dimension_names"), array.domain);
  UNSHARD_ASSIGN_OR_RETURN(array.dtype, NameMember(json, "data_type"));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor grid, json.Member("chunk_grid"));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, grid.Member("configuration"));
  UNSHARD_ASSIGN_OR_RETURN(array.write_chunk, ChunksMember(configuration, "chunk_shape", shape));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, json.Member("codecs"));
  UNSHARD_RETURN_IF_ERROR(DescribeCodecs(codecs, array));
  if (const JsonValue* const fill = document.Find("fill_value")) {
    const DataTypeNames* const type = FindDataTypeNames(DataTypeDialect::kSchema, array.dtype);
    array.fill_value = type != nullptr ? SchemaFillValueOf(*type, *fill) : *fill;
  }
  array.units = UnitsOf(document, shape.size());
  return JsonOf(array);
}

Result<JsonValue> SchemaOfZarr2Array(const JsonValue& document) {
  const JsonCursor json(document, "");
  Description array;
  UNSHARD_ASSIGN_OR_RETURN(const SignedShape shape, ShapeMember(json, "shape", 0));
  array.domain = ResizableDomain(shape);
  UNSHARD_ASSIGN_OR_RETURN(array.write_chunk, ChunksMember(json, "chunks", shape));
  array.read_chunk = array.write_chunk;
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, json.StringMember("dtype"));
  array.dtype = Zarr2TypeName(name);
  const bool reversed = TextOf(document, "order") == "F";
  array.inner_order = reversed ? ReversedOrder(shape.size()) : IdentityOrder(shape.size());
  const JsonValue* const fill = document.Find("fill_value");
  if (fill != nullptr && !fill->is_null()) {
    const DataTypeNames* const type = FindDataTypeNames(DataTypeDialect::kSchema, array.dtype);
    array.fill_value =
        type != nullptr ? SchemaFillValueOf(*type, WithNumbersOfStrings(*fill)) : *fill;
  }
  const JsonValue* const compressor = document.Find("compressor");
  JsonValue given = CodecOf("zarr");
  given.Set("compressor", compressor != nullptr ? *compressor : JsonValue());
  array.codec = given;
  if (auto codec = ParseCodecConstraints(JsonCursor(given, "codec"))) {
    array.codec.Set("compressor", *codec->members.Find("compressor"));
  }
  const JsonValue* const filters = document.Find("filters");
  const bool filtered = filters != nullptr && !filters->items().empty();
  array.codec.Set("filters", filtered ? *filters : JsonValue());
  return JsonOf(array);
}

Result<JsonValue> SchemaOfN5Dataset(const JsonValue& document) {
  const JsonCursor json(document, "");
  Description array;
  UNSHARD_ASSIGN_OR_RETURN(const SignedShape shape, ShapeMember(json, "dimensions", 0));
  array.domain = ResizableDomain(shape);
  SetLabels(document.Find("axes"), array.domain);
  UNSHARD_ASSIGN_OR_RETURN(array.write_chunk, ChunksMember(json, "blockSize", shape));
  array.read_chunk = array.write_chunk;
  array.inner_order = ReversedOrder(shape.size());
  UNSHARD_ASSIGN_OR_RETURN(array.dtype, NameMember(json, "dataType"));
  array.codec = CodecOf("n5");
  if (const JsonValue* const codecs = document.Find("codecs")) {
    array.codec.Set("codecs", *codecs);
    if (auto inner = FirstInnerShape(*codecs, shape.size())) {
      array.read_chunk.assign(inner->rbegin(), inner->rend());
    }
  } else if (const JsonValue* const compression = document.Find("compression")) {
    array.codec.Set("compression", *compression);
    if (auto codec = ParseCodecConstraints(JsonCursor(array.codec, "codec"))) {
      array.codec.Set("compression", *codec->members.Find("compression"));
    }
  }
  const auto& units = ItemsOf(document, "units");
  const auto& resolution = ItemsOf(document, "resolution");
  for (std::size_t i = 0; units.size() == shape.size() && i < units.size(); ++i) {
    const bool given = resolution.size() == units.size();
    const auto number =
        given ? NumberAt(JsonCursor(resolution[i], "resolution")) : Result<double>(1);
    array.units.push_back(DimensionUnit{number.value_or(1), units[i].text()});
  }
  return JsonOf(array);
}

Result<JsonValue> SchemaOfScale(const VolumeScale& scale) {
  const ArrayMetadata& from = scale.array;
  if (from.units.empty() || from.type_name.empty()) {
    return tl::unexpected<Error>(from.voxels.error());
  }
  Description array;
  array.dtype = from.type_name;
  array.read_chunk = Reversed(from.chunk_shape);
  const SignedShape volume = Reversed(from.shape), offset = Reversed(from.origin);
  constexpr std::array<const char*, kAxes> kLabels = {"x", "y", "z", "channel"};
  for (std::size_t i = 0; i < kAxes; ++i) {
    const bool finite = offset[i] > -kInfiniteIndex && volume[i] < kInfiniteIndex &&
                        array.read_chunk[i] < kInfiniteIndex;
    if (!finite || offset[i] > kInfiniteIndex - volume[i]) {
      return Fail(ErrorCode::kDataLoss, scale.json_path + ": expected a region below 2^62");
    }
    array.domain.dimensions.push_back(
        {offset[i], offset[i] + volume[i] - 1, false, false, kLabels[i]});
  }
  array.inner_order = ReversedOrder(kAxes);
  array.read_chunk = Reversed(from.chunk_shape);
  array.write_chunk =
      scale.sharding ? WriteChunkOf(*scale.sharding, volume, array.read_chunk) : array.read_chunk;
  if (TextOf(from.codec_json, "encoding") == "compressed_segmentation") {
    const JsonCursor members(from.codec_json, scale.json_path);
    UNSHARD_ASSIGN_OR_RETURN(const auto block, ParseBlockSize(members));
    if (!block) return tl::unexpected<Error>(from.voxels.error());
    array.codec_chunk = SignedShape(block->begin(), block->end());
    array.codec_chunk.push_back(1);
  }
  array.codec = ScaleCodec(from.codec_json, scale.sharding);
  array.units.assign(from.units.rbegin(), from.units.rend());
  return JsonOf(array);
}

}  // namespace unshard
