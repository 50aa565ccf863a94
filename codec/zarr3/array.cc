#include "codec/zarr3/array.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/array/document.h"
#include "codec/chain/codec_chain.h"
#include "codec/chain/codec_spec.h"
#include "codec/json/parser.h"
#include "codec/types/fill_value.h"
#include "codec/zarr3/key_encoding.h"
#include "codec/zarr3/sharding.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxExtent = ~std::uint64_t{0} >> 1;
constexpr const char* kUnits = "dimension_units";

// An extension point of the document in its current form.
struct Extension {
  JsonValue json;  // {"name": …, "configuration"?: …}
  std::string path;
  [[nodiscard]] std::string name() const { return TextOf(json, "name"); }
  [[nodiscard]] JsonCursor cursor() const { return {json, path}; }
};

Result<Extension> ParseExtension(const JsonCursor& document, const char* key) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, document.Member(key));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue json, NormaliseExtension(member));
  return Extension{std::move(json), member.path()};
}

tl::unexpected<Error> NotSupported(const Extension& extension, const std::string& expected) {
  return Fail(ErrorCode::kNotSupported,
              extension.path + ": \"" + extension.name() + "\" is not supported; " + expected);
}

class ArrayParser {
 public:
  explicit ArrayParser(const JsonCursor& document) : document_(document) {}

  Result<ArrayMetadata> Parse() {
    UNSHARD_RETURN_IF_ERROR(CheckKind());
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor shape, document_.Member("shape"));
    UNSHARD_ASSIGN_OR_RETURN(array_.shape, shape.UnsignedItems(0, kMaxExtent));
    array_.origin.assign(array_.rank(), 0);
    UNSHARD_RETURN_IF_ERROR(TakeDataType());
    UNSHARD_RETURN_IF_ERROR(TakeGrid());
    UNSHARD_RETURN_IF_ERROR(TakeKeyEncoding());
    UNSHARD_RETURN_IF_ERROR(TakeCodecs());
    if (const auto grid = GridOf(array_); !grid) return Forward(grid.error(), "chunk_grid");
    UNSHARD_RETURN_IF_ERROR(TakeAxes());
    return std::move(array_);
  }

 private:
  [[nodiscard]] Status CheckKind() const {
    UNSHARD_RETURN_IF_ERROR(document_.UnsignedMember("zarr_format", 3, 3));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor node, document_.Member("node_type"));
    UNSHARD_ASSIGN_OR_RETURN(const std::string type, node.String());
    if (type != "array") return node.Expected("\"array\"");
    UNSHARD_ASSIGN_OR_RETURN(const auto found, document_.OptionalMember("storage_transformers"));
    if (found.empty()) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto items, found.front().Items());
    if (items.empty()) return {};
    return Fail(ErrorCode::kNotSupported,
                found.front().path() + ": storage transformers are not supported");
  }

  Status TakeDataType() {
    UNSHARD_ASSIGN_OR_RETURN(const Extension type, ParseExtension(document_, "data_type"));
    const auto known = FindDataType(DataTypeDialect::kZarr, type.name());
    if (!known) return NotSupported(type, "expected a type of numbers, booleans or raw bits");
    array_.data_type = *known;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor fill, document_.Member("fill_value"));
    UNSHARD_ASSIGN_OR_RETURN(array_.fill_value, ParseFillValue(fill, array_.data_type));
    return {};
  }

  Status TakeGrid() {
    UNSHARD_ASSIGN_OR_RETURN(const Extension grid, ParseExtension(document_, "chunk_grid"));
    if (grid.name() != "regular") return NotSupported(grid, "expected \"regular\"");
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, grid.cursor().Member("configuration"));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor shape, configuration.Member("chunk_shape"));
    UNSHARD_ASSIGN_OR_RETURN(array_.chunk_shape, ParseChunkShape(shape, array_.shape, kMaxExtent));
    if (array_.chunk_shape.size() == array_.rank()) return {};
    return shape.Expected(std::to_string(array_.rank()) + " extents, as many as `shape`");
  }

  Status TakeKeyEncoding() {
    UNSHARD_ASSIGN_OR_RETURN(const Extension encoding,
                             ParseExtension(document_, "chunk_key_encoding"));
    UNSHARD_ASSIGN_OR_RETURN(array_.key_encoding, ParseZarr3KeyEncoding(encoding.cursor()));
    return {};
  }

  Status TakeCodecs() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, document_.Member("codecs"));
    UNSHARD_ASSIGN_OR_RETURN(ChainSpec chain, ParseChainSpec(codecs, array_.rank()));
    if (FindSharding(chain)) {
      array_.sharding = ChainJson(chain);
      UNSHARD_ASSIGN_OR_RETURN(ZarrSharding sharding,
                               ResolveSharding(chain, array_.chunk_shape,
                                               FillItem{array_.data_type, FillValueOf(array_)}));
      array_.shard_shape = array_.chunk_shape;
      array_.chunk_shape = std::move(sharding.chunk_shape);
      chain = std::move(sharding.flattened);
    }
    array_.codec_json = ChainJson(chain);
    UNSHARD_ASSIGN_OR_RETURN(
        array_.codec, CodecChain::Bind(chain, codecs.path(), {array_.data_type, array_.rank()}));
    return {};
  }

  static JsonValue ChainJson(const ChainSpec& chain) {
    std::vector<JsonValue> items;
    for (const CodecSpec& codec : chain) items.push_back(codec.json);
    return JsonValue::Array(std::move(items));
  }

  Status TakeAxes() {
    UNSHARD_ASSIGN_OR_RETURN(const auto names, document_.OptionalMember("dimension_names"));
    if (!names.empty()) {
      UNSHARD_ASSIGN_OR_RETURN(array_.axis_names, ParseAxisNames(names.front(), array_.rank()));
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto attributes, document_.OptionalMember("attributes"));
    if (attributes.empty()) return {};
    UNSHARD_RETURN_IF_ERROR(attributes.front().ExpectObject());
    array_.attributes = attributes.front().value();
    UNSHARD_ASSIGN_OR_RETURN(const auto units, attributes.front().OptionalMember(kUnits));
    if (units.empty()) return {};
    // Of another form than TensorStore's it is an ordinary attribute.
    auto parsed = ParseUnitTexts(units.front(), array_.rank());
    if (!parsed) return {};
    array_.units = *std::move(parsed);
    array_.attributes.Erase(kUnits);
    return {};
  }

  const JsonCursor document_;
  ArrayMetadata array_;
};

JsonValue CodecsOf(const ArrayMetadata& array) {
  if (!array.sharding.is_null()) return array.sharding;
  if (!array.shard_shape) return array.codec_json;
  return JsonValue::Array({ShardingCodecJson(ExtentsJson(array.chunk_shape), array.codec_json)});
}

}  // namespace

Result<ArrayMetadata> ParseZarr3Array(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, ParseJson(text));
  return ParseZarr3Array(JsonCursor(document, ""));
}

Result<ArrayMetadata> ParseZarr3Array(const JsonCursor& document) {
  return ArrayParser(document).Parse();
}

Result<JsonValue> WriteZarr3Array(const ArrayMetadata& array) {
  UNSHARD_RETURN_IF_ERROR(RefuseOrigin(array));
  JsonValue document = JsonValue::Object();
  document.Set("zarr_format", JsonValue::Number(std::uint64_t{3}));
  document.Set("node_type", JsonValue::String("array"));
  document.Set("shape", ExtentsJson(array.shape));
  document.Set("data_type", JsonValue::String(DataTypeName(array.data_type)));
  JsonValue chunk_shape = ExtentsJson(array.shard_shape.value_or(array.chunk_shape));
  document.Set(
      "chunk_grid",
      ExtensionJson("regular", JsonValue::Object({{"chunk_shape", std::move(chunk_shape)}})));
  const bool is_v2 = array.key_encoding.kind == ChunkKeyEncoding::Kind::kV2;
  JsonValue separator = JsonValue::String(std::string(1, array.key_encoding.separator));
  document.Set("chunk_key_encoding",
               ExtensionJson(is_v2 ? "v2" : "default",
                             JsonValue::Object({{"separator", std::move(separator)}})));
  document.Set("fill_value", WriteZarr3FillValue(FillValueOf(array), array.data_type));
  document.Set("codecs", CodecsOf(array));
  JsonValue attributes = array.attributes;
  if (!array.units.empty()) attributes.Set(kUnits, UnitTexts(array.units));
  document.Set("attributes", std::move(attributes));
  if (!array.axis_names.empty()) document.Set("dimension_names", AxisNamesJson(array.axis_names));
  return document;
}

}  // namespace unshard
