#include "codec/zarr3/document.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/array/document.h"
#include "codec/chain/chain_check.h"
#include "codec/chain/codec_chain.h"
#include "codec/chain/codec_spec.h"
#include "codec/chain/unshard.h"
#include "codec/core/byte_range.h"
#include "codec/core/text.h"
#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/types/data_type.h"
#include "codec/types/fill_value.h"
#include "codec/types/time_type.h"
#include "codec/zarr3/item_type.h"
#include "codec/zarr3/layout_digest.h"
#include "codec/zarr3/locator.h"
#include "codec/zarr3/rectilinear.h"
#include "codec/zarr3/shard.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxExtent = ~std::uint64_t{0} >> 1;
constexpr const char* kUnits = "dimension_units";
// What decides how chunks are stored: the document without what readers alone use.
std::string LayoutOf(const JsonValue& document) {
  JsonValue layout = JsonValue::Object();
  for (const auto& [name, value] : document.members()) {
    const ZarrMember* const member = FindZarrMember(name);
    const bool stored = member == nullptr || member->decides_layout;
    if (stored && name != "fill_value") layout.Set(name, value);
  }
  return WriteJson(layout, 0);
}

// An encoding as NormaliseExtension gives it. Fails with kNotSupported, naming it, where it is
// neither "default" nor "v2", and with kDataLoss on a separator other than "/" and ".".
Result<ChunkKeyEncoding> ParseKeyEncoding(const JsonCursor& encoding) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, encoding.StringMember("name"));
  ChunkKeyEncoding parsed;
  if (name == "v2") {
    parsed = {ChunkKeyEncoding::Kind::kV2, '.'};
  } else if (name != "default") {
    return Fail(ErrorCode::kNotSupported, encoding.path(), ": unsupported chunk key encoding \"",
                name, "\"");
  }
  const JsonValue* const configuration = encoding.value().Find("configuration");
  const CodecOptions options(configuration, MemberPath(encoding.path(), "configuration"));
  UNSHARD_ASSIGN_OR_RETURN(const auto separators, options.Find("separator"));
  if (!separators) return parsed;
  UNSHARD_ASSIGN_OR_RETURN(const std::string separator, separators->String());
  if (separator != "/" && separator != ".") return separators->Expected("\"/\" or \".\"");
  parsed.separator = separator[0];
  return parsed;
}

// Reads the document of an array, and makes it that of the unsharded equivalent.
class ArrayReader {
 public:
  ArrayReader(const JsonValue& document, const std::string& path) : source_(document, path) {}

  Result<ZarrNode> Read() {
    node_.type = ZarrNode::Type::kArray;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor shape, source_.Member("shape"));
    UNSHARD_ASSIGN_OR_RETURN(array_.shape, shape.UnsignedItems(0, kMaxExtent));
    array_.origin.assign(array_.rank(), 0);
    node_.presentable = RefuseTransformers();
    UNSHARD_RETURN_IF_ERROR(TakeDataType());
    UNSHARD_RETURN_IF_ERROR(TakeGrid());
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor encoding, source_.Member("chunk_key_encoding"));
    UNSHARD_ASSIGN_OR_RETURN(key_encoding_, NormaliseExtension(encoding));
    const auto keys = ParseKeyEncoding(JsonCursor(key_encoding_, encoding.path()));
    if (keys) array_.key_encoding = *keys;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, source_.Member("codecs"));
    UNSHARD_ASSIGN_OR_RETURN(ChainSpec chain, ParseChainSpec(codecs, array_.rank()));
    if (FindSharding(chain)) {
      array_.sharding = CodecsJson(chain);
      if (stored_grid_ && stored_grid_->is_regular()) array_.shard_shape = array_.chunk_shape;
      auto inner = TakeSharding(chain, keys, codecs.path());
      if (!inner && inner.error().code != ErrorCode::kNotSupported)
        return Forward(inner.error(), "");
      if (!inner && node_.presentable) node_.presentable = Forward(inner.error(), "");
      chain = std::move(inner).value_or(ChainSpec());
    } else if (stored_grid_) {
      SetGrid(array_, *stored_grid_);
    }
    array_.codec_json = CodecsJson(chain);
    array_.voxels = TakeVoxels(chain, keys, codecs.path());
    if (node_.sharded) {
      node_.sharded->check = MakeChainCheck(
          array_.codec ? array_.codec : CodecChain::BindToCheck(chain, StoredItems()),
          node_.sharded->grid.chunk_shape());
    }
    node_.layout = LayoutOf(source_.value());
    return std::move(node_);
  }

  // Makes `document`, which was read as `array`, that of the unsharded array. Whether it changed.
  bool Edit(const Array& array, JsonValue& document) {
    bool changed = false;
    const auto set = [&](const char* key, JsonValue value) {
      if (*document.Find(key) == value) return;
      document.Set(key, std::move(value));
      changed = true;
    };
    set("data_type", WrittenType());
    // Old writers used numbers as fill values of booleans, which some readers refuse.
    const JsonValue* const fill = document.Find("fill_value");
    const bool is_digit =
        fill != nullptr && fill->is_number() && (fill->text() == "0" || fill->text() == "1");
    if (array.type_name == "bool" && is_digit) {
      set("fill_value", JsonValue::Boolean(fill->text() == "1"));
    }
    if (!array.sharding.is_null()) {
      if (TextOf(grid_, "name") == kRectilinear) {
        grid_ = ExtensionJson("regular", JsonValue::Object());
      }
      grid_.Find("configuration")->Set("chunk_shape", ExtentsJson(array.chunk_shape));
    }
    set("chunk_grid", std::move(grid_));
    set("chunk_key_encoding", std::move(key_encoding_));
    set("codecs", array.codec_json);
    // In old documents null means that a member is absent.
    for (const char* key : {"dimension_names", "storage_transformers"}) {
      const JsonValue* member = document.Find(key);
      if (member == nullptr || !member->is_null()) continue;
      document.Erase(key);
      changed = true;
    }
    return changed;
  }

 private:
  [[nodiscard]] Status RefuseTransformers() const {
    UNSHARD_ASSIGN_OR_RETURN(const auto found, source_.OptionalMember("storage_transformers"));
    if (!found) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto items, found->Items());
    if (items.empty()) return {};
    return Fail(ErrorCode::kNotSupported, found->path(),
                ": storage transformers are not supported");
  }

  Status TakeDataType() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor cursor, source_.Member("data_type"));
    UNSHARD_ASSIGN_OR_RETURN(data_type_, NormaliseExtension(cursor));
    array_.type_name = TextOf(data_type_, "name");
    const auto fill = source_.Member("fill_value");
    if (fill) array_.fill_json = fill->value();
    auto type = FindDataType(DataTypeDialect::kZarr, array_.type_name);
    if (!type) array_.item_type = WrittenType();
    if (IsTime(array_.item_type)) type = kTimeNumber;
    if (!type) {
      fill_ = NotSupported(cursor.path(), array_.type_name,
                           "expected a type of numbers, booleans, times or raw bits");
      return {};
    }
    array_.data_type = *type;
    fill_ = fill ? FillValueAt(*fill) : tl::unexpected<Error>(fill.error());
    return {};
  }

  [[nodiscard]] Result<ByteVector> FillValueAt(const JsonCursor& fill) const {
    if (array_.item_type.is_null()) return ParseFillValue(fill, array_.data_type);
    const JsonValue number = WithNumberOfNoTime(fill.value());
    return ParseFillValue(JsonCursor(number, fill.path()), array_.data_type);
  }

  static tl::unexpected<Error> NotSupported(const std::string& path, const std::string& name,
                                            const std::string& expected) {
    return Fail(ErrorCode::kNotSupported, path, ": \"", name, "\" is not supported; ", expected);
  }

  // {"name": "int8"} and URIs become "int8"; a data type with parameters stays an object.
  [[nodiscard]] JsonValue WrittenType() const {
    const JsonValue* configuration = data_type_.Find("configuration");
    const bool has_parameters = configuration != nullptr && !configuration->members().empty();
    const bool has_more = data_type_.members().size() > (configuration != nullptr ? 2u : 1u);
    return has_parameters || has_more ? data_type_ : *data_type_.Find("name");
  }

  // Sets chunk_shape to that of stored chunks or shards; it stays empty where these differ, or the
  // grid is not known.
  Status TakeGrid() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, source_.Member("chunk_grid"));
    UNSHARD_ASSIGN_OR_RETURN(grid_, NormaliseExtension(member));
    const std::string name = TextOf(grid_, "name");
    if (name != "regular" && name != kRectilinear) {
      stored_grid_ = NotSupported(member.path(), name, "expected \"regular\" or \"rectilinear\"");
      return {};
    }
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, member.Member("configuration"));
    if (name == kRectilinear) {
      stored_grid_ = ParseRectilinearGrid(configuration, array_.shape);
      if (stored_grid_ && stored_grid_->is_regular()) {
        array_.chunk_shape = stored_grid_->chunk_shape();
      }
      const bool is_damaged = !stored_grid_ && stored_grid_.error().code == ErrorCode::kDataLoss;
      return is_damaged ? Forward(stored_grid_.error(), "") : Status();
    }
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor chunk_shape, configuration.Member("chunk_shape"));
    UNSHARD_ASSIGN_OR_RETURN(array_.chunk_shape,
                             ParseChunkShape(chunk_shape, array_.shape, kMaxExtent));
    if (array_.chunk_shape.size() != array_.rank()) {
      return chunk_shape.Expected(std::to_string(array_.rank()) + " extents, as many as `shape`");
    }
    auto stored = GridOf(array_);
    if (!stored) return Forward(std::move(stored).error(), chunk_shape.path());
    stored_grid_ = *std::move(stored);
    return {};
  }

  // Returns the codecs of inner chunks.
  Result<ChainSpec> TakeSharding(const ChainSpec& chain, const Result<ChunkKeyEncoding>& keys,
                                 const std::string& path) {
    UNSHARD_RETURN_IF_ERROR(stored_grid_);
    // Chunks of arrays whose type is not known, or whose fill value is damaged, are files as well.
    std::optional<Voxels> fill;
    if (fill_) {
      UNSHARD_ASSIGN_OR_RETURN(fill, Voxels::Make(array_.data_type, {1}, *fill_));
    }
    UNSHARD_ASSIGN_OR_RETURN(Unsharded unsharded, Unshard(chain, *stored_grid_, std::move(fill)));
    array_.chunk_shape = unsharded.chunk_shape;
    ZarrShardedArray sharded;
    auto grid = GridOf(array_);
    if (!grid) return Forward(std::move(grid).error(), path);
    sharded.grid = *std::move(grid);
    sharded.shard_grid = *stored_grid_;
    UNSHARD_RETURN_IF_ERROR(CheckSlotCount(sharded));
    UNSHARD_ASSIGN_OR_RETURN(sharded.key_encoding, keys);
    sharded.locator = MakeZarrChunkLocator(sharded.grid, sharded.shard_grid, unsharded.levels);
    sharded.keys = MakeZarrShardKeys(sharded.shard_grid, sharded.key_encoding);
    sharded.layout_digest = ZarrLayoutDigest(source_.value());
    auto format = MakeZarrShardFormat(std::move(unsharded.levels),
                                      std::move(unsharded.outer_codecs), sharded.shard_grid);
    if (!format) return Forward(std::move(format).error(), path);
    sharded.format = *std::move(format);
    node_.sharded = std::move(sharded);
    return std::move(unsharded.codecs);
  }

  // Slots are numbered by 64 bits, as if each shard had as many as the largest.
  [[nodiscard]] Status CheckSlotCount(const ZarrShardedArray& sharded) const {
    std::uint64_t count = sharded.shard_grid.cell_count();
    for (std::size_t d = 0; d < array_.rank(); ++d) {
      const std::uint64_t slots =
          sharded.shard_grid.chunk_shape()[d] / sharded.grid.chunk_shape()[d];
      const auto product = CheckedMultiply(count, slots);
      if (!product) {
        return Fail(ErrorCode::kNotSupported, MemberPath(source_.path(), "chunk_grid"),
                    ": expected fewer than 2^64 chunks, with each shard as large as the largest");
      }
      count = *product;
    }
    return {};
  }

  // Nothing where the type is not known.
  [[nodiscard]] std::optional<ArrayRepresentation> StoredItems() const {
    const auto item = FindItemType(data_type_);
    if (!item) return std::nullopt;
    return ArrayRepresentation{*item, array_.rank()};
  }

  // What is needed to pass chunks on.
  [[nodiscard]] Status CanPass(const Result<ChunkKeyEncoding>& keys) const {
    UNSHARD_RETURN_IF_ERROR(stored_grid_);
    UNSHARD_RETURN_IF_ERROR(node_.presentable);
    if (array_.chunk_shape.size() != array_.rank()) {
      return NotSupported(MemberPath(source_.path(), "chunk_grid"), TextOf(grid_, "name"),
                          "expected \"regular\"");
    }
    UNSHARD_RETURN_IF_ERROR(RefuseUnknownMembers());
    UNSHARD_RETURN_IF_ERROR(keys);
    return {};
  }

  // What only voxels need.
  Status TakeVoxels(const ChainSpec& chain, const Result<ChunkKeyEncoding>& keys,
                    const std::string& path) {
    const Status axes = TakeAxes();
    array_.passable = CanPass(keys);
    UNSHARD_RETURN_IF_ERROR(array_.passable);
    if (!axes) array_.passable = Forward(axes.error(), "");
    UNSHARD_RETURN_IF_ERROR(fill_);
    array_.fill_value = *fill_;
    UNSHARD_ASSIGN_OR_RETURN(array_.codec,
                             CodecChain::Bind(chain, path, {array_.data_type, array_.rank()}));
    return axes;
  }

  // Members that a later specification, or an extension, requires readers to know.
  [[nodiscard]] Status RefuseUnknownMembers() const {
    for (const auto& [name, value] : source_.value().members()) {
      const JsonValue* const must = value.is_object() ? value.Find("must_understand") : nullptr;
      if (must == nullptr || !must->is_boolean() || !must->boolean()) continue;
      if (FindZarrMember(name) != nullptr) continue;
      return Fail(ErrorCode::kNotSupported, MemberPath(source_.path(), name),
                  ": is not known here, and must be understood");
    }
    return {};
  }

  Status TakeAxes() {
    UNSHARD_ASSIGN_OR_RETURN(const auto names, source_.OptionalMember("dimension_names"));
    if (names) {
      UNSHARD_ASSIGN_OR_RETURN(array_.axis_names, ParseAxisNames(*names, array_.rank()));
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto attributes, source_.OptionalMember("attributes"));
    if (!attributes) return {};
    UNSHARD_RETURN_IF_ERROR(attributes->ExpectObject());
    array_.attributes = attributes->value();
    UNSHARD_ASSIGN_OR_RETURN(const auto units, attributes->OptionalMember(kUnits));
    if (!units) return {};
    // Of another form than TensorStore's it is an ordinary attribute.
    auto parsed = ParseUnitTexts(*units, array_.rank());
    if (!parsed) return {};
    array_.units = *std::move(parsed);
    array_.attributes.Erase(kUnits);
    return {};
  }

  const JsonCursor source_;
  ZarrNode node_;
  Array& array_ = node_.array;
  // Extension points in their current form.
  JsonValue data_type_, grid_, key_encoding_;
  Result<ByteVector> fill_;        // kNotSupported: the data type has no voxels
  Result<ChunkGrid> stored_grid_;  // of shards, where there are; kNotSupported: the grid is unknown
};

// The `node_type`. Fails where the document is none of this version.
Result<ZarrNode::Type> TypeOf(const JsonCursor& document) {
  UNSHARD_RETURN_IF_ERROR(document.UnsignedMember("zarr_format", 3, 3));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor node, document.Member("node_type"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string type, node.String());
  if (type == "array") return ZarrNode::Type::kArray;
  if (type == "group") return ZarrNode::Type::kGroup;
  return node.Expected("\"array\" or \"group\"");
}

ZarrNode GroupNode(const JsonValue& document) {
  ZarrNode group;
  group.array.voxels = JsonCursor(*document.Find("node_type"), "node_type").Expected("\"array\"");
  return group;
}

struct Rewritten {
  ZarrNode node;
  bool changed = false;  // whether the document differs from the original
};

// Rewrites `document` in place and describes it. After a failure `document` is unchanged.
Result<Rewritten> RewriteNode(JsonValue& document, const std::string& path);

// Rewrites the copies of descendants in `consolidated_metadata`; a copy that cannot be rewritten
// stays unchanged, with a warning. Returns whether anything changed.
bool RewriteConsolidated(JsonValue& group, const std::string& path,
                         std::vector<std::string>& warnings) {
  JsonValue* consolidated = group.Find("consolidated_metadata");
  JsonValue* metadata = consolidated != nullptr ? consolidated->Find("metadata") : nullptr;
  if (metadata == nullptr || !metadata->is_object()) return false;
  bool changed = false;
  const std::string prefix = MemberPath(MemberPath(path, "consolidated_metadata"), "metadata");
  for (auto& [name, embedded] : metadata->mutable_members()) {
    const auto rewritten = RewriteNode(embedded, prefix + "[\"" + name + "\"]");
    if (!rewritten) {
      warnings.push_back(name + ": " + rewritten.error().message);
      continue;
    }
    changed |= rewritten->changed;
    for (const std::string& warning : rewritten->node.warnings) {
      warnings.push_back(name + "/" + warning);
    }
  }
  return changed;
}

Result<Rewritten> RewriteNode(JsonValue& document, const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto type, TypeOf(JsonCursor(document, path)));
  Rewritten rewritten;
  if (type == ZarrNode::Type::kGroup) {
    rewritten.node = GroupNode(document);
    rewritten.changed = RewriteConsolidated(document, path, rewritten.node.warnings);
    return rewritten;
  }
  ArrayReader reader(document, path);
  UNSHARD_ASSIGN_OR_RETURN(rewritten.node, reader.Read());
  UNSHARD_RETURN_IF_ERROR(rewritten.node.presentable);
  rewritten.changed = reader.Edit(rewritten.node.array, document);
  return rewritten;
}

JsonValue GridJson(const Array& array) {
  if (array.rectilinear) {
    return ExtensionJson(std::string(kRectilinear), RectilinearConfiguration(*array.rectilinear));
  }
  JsonValue chunk_shape = ExtentsJson(array.shard_shape.value_or(array.chunk_shape));
  return ExtensionJson("regular", JsonValue::Object({{"chunk_shape", std::move(chunk_shape)}}));
}

JsonValue CodecsOf(const Array& array) {
  if (!array.sharding.is_null()) return array.sharding;
  if (!array.shard_shape) return array.codec_json;
  return JsonValue::Array({ShardingCodecJson(ExtentsJson(array.chunk_shape), array.codec_json)});
}

}  // namespace

Result<ZarrNode> ParseZarrMetadata(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(JsonValue document, ParseJson(text));
  UNSHARD_ASSIGN_OR_RETURN(Rewritten rewritten, RewriteNode(document, ""));
  rewritten.node.unsharded_text = rewritten.changed ? WriteDocument(document) : std::string(text);
  return std::move(rewritten.node);
}

Result<ZarrNode> ParseZarrMetadata(const JsonValue& document) {
  UNSHARD_ASSIGN_OR_RETURN(ZarrNode node, ParseZarrNode(document));
  UNSHARD_RETURN_IF_ERROR(node.presentable);
  return node;
}

Result<ZarrNode> ParseZarrNode(const JsonValue& document) {
  UNSHARD_ASSIGN_OR_RETURN(const auto type, TypeOf(JsonCursor(document, "")));
  if (type == ZarrNode::Type::kGroup) return GroupNode(document);
  return ArrayReader(document, "").Read();
}

Result<JsonValue> UnshardedDocument(JsonValue document) {
  UNSHARD_ASSIGN_OR_RETURN(const auto type, TypeOf(JsonCursor(document, "")));
  if (type == ZarrNode::Type::kArray) UNSHARD_RETURN_IF_ERROR(RewriteNode(document, ""));
  return document;
}

Result<JsonValue> WriteZarr3Array(const Array& array) {
  UNSHARD_RETURN_IF_ERROR(RefuseOrigin(array));
  JsonValue document = JsonValue::Object();
  document.Set("zarr_format", JsonValue::Number(std::uint64_t{3}));
  document.Set("node_type", JsonValue::String("array"));
  document.Set("shape", ExtentsJson(array.shape));
  document.Set("data_type", array.item_type.is_null()
                                ? JsonValue::String(DataTypeName(array.data_type))
                                : array.item_type);
  document.Set("chunk_grid", GridJson(array));
  const bool is_v2 = array.key_encoding.kind == ChunkKeyEncoding::Kind::kV2;
  JsonValue separator = JsonValue::String(std::string(1, array.key_encoding.separator));
  document.Set("chunk_key_encoding",
               ExtensionJson(is_v2 ? "v2" : "default",
                             JsonValue::Object({{"separator", std::move(separator)}})));
  const bool has_json = !array.fill_value && !array.fill_json.is_null();
  document.Set("fill_value", has_json ? array.fill_json
                                      : WriteZarr3FillValue(FillValueOf(array), array.data_type));
  document.Set("codecs", CodecsOf(array));
  JsonValue attributes = array.attributes;
  if (!array.units.empty()) attributes.Set(kUnits, UnitTexts(array.units));
  document.Set("attributes", std::move(attributes));
  if (!array.axis_names.empty()) document.Set("dimension_names", AxisNamesJson(array.axis_names));
  return document;
}

}  // namespace unshard
