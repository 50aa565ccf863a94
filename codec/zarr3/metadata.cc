#include "codec/zarr3/metadata.h"

#include <array>
#include <optional>
#include <utility>

#include "codec/array/document.h"
#include "codec/chain/codec_spec.h"
#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/types/data_type.h"
#include "codec/types/fill_value.h"
#include "codec/zarr3/check.h"
#include "codec/zarr3/key_encoding.h"
#include "codec/zarr3/layout_digest.h"
#include "codec/zarr3/locator.h"
#include "codec/zarr3/shard.h"
#include "codec/zarr3/sharding.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxArrayExtent = ~std::uint64_t{0} >> 1;

// An extension point in its current form, to which the document is changed where it has another.
Result<JsonValue> NormaliseMember(JsonValue& document, const JsonCursor& member,
                                  const std::string& key) {
  UNSHARD_ASSIGN_OR_RETURN(JsonValue normalised, NormaliseExtension(member));
  if (!(normalised == member.value())) document.Set(key, normalised);
  return normalised;
}

// The members that ArrayRewriter reads and edits: attributes, which can be large, are not copied.
constexpr std::array kRewrittenMembers = {"shape",           "data_type",           "fill_value",
                                          "chunk_grid",      "chunk_key_encoding",  "codecs",
                                          "dimension_names", "storage_transformers"};

JsonValue LayoutOf(const JsonValue& document) {
  JsonValue layout = JsonValue::Object();
  for (const char* key : kRewrittenMembers) {
    if (const JsonValue* member = document.Find(key)) layout.Set(key, *member);
  }
  return layout;
}

// Rewrites the array `document`, whose original layout is `source`.
class ArrayRewriter {
 public:
  ArrayRewriter(const JsonValue& source, JsonValue& document, const std::string& path)
      : source_(source, path), path_(path), document_(document) {}

  Result<ZarrNode> Rewrite() {
    node_.type = ZarrNode::Type::kArray;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor shape, Member("shape"));
    UNSHARD_ASSIGN_OR_RETURN(node_.shape, shape.UnsignedItems(0, kMaxArrayExtent));
    UNSHARD_RETURN_IF_ERROR(RefuseTransformers());
    UNSHARD_RETURN_IF_ERROR(TakeDataType());
    UNSHARD_RETURN_IF_ERROR(TakeGrid());
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor encoding, Member("chunk_key_encoding"));
    UNSHARD_ASSIGN_OR_RETURN(key_encoding_,
                             NormaliseMember(document_, encoding, "chunk_key_encoding"));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, Member("codecs"));
    UNSHARD_ASSIGN_OR_RETURN(ChainSpec chain, ParseChainSpec(codecs, node_.shape.size()));
    if (FindSharding(chain)) {
      UNSHARD_ASSIGN_OR_RETURN(chain, Unshard(chain));
    }
    node_.codecs = DescribeCodecs(chain);
    SetCodecs(std::move(chain), codecs.value());
    DropNulls();
    return std::move(node_);
  }

 private:
  [[nodiscard]] Result<JsonCursor> Member(const char* key) const { return source_.Member(key); }

  [[nodiscard]] Status RefuseTransformers() const {
    UNSHARD_ASSIGN_OR_RETURN(const auto found, source_.OptionalMember("storage_transformers"));
    if (found.empty()) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto items, found.front().Items());
    if (items.empty()) return {};
    return Fail(ErrorCode::kNotSupported,
                found.front().path() + ": storage transformers are not supported");
  }

  // {"name": "int8"} and URIs become "int8"; a data type with parameters stays an object.
  Status TakeDataType() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor cursor, Member("data_type"));
    UNSHARD_ASSIGN_OR_RETURN(data_type_, NormaliseExtension(cursor));
    const JsonValue& normalised = data_type_;
    node_.data_type = normalised.Find("name")->text();
    const JsonValue* configuration = normalised.Find("configuration");
    const bool has_parameters = configuration != nullptr && !configuration->members().empty();
    const bool has_more = normalised.members().size() > (configuration != nullptr ? 2u : 1u);
    const JsonValue written =
        has_parameters || has_more ? normalised : JsonValue::String(node_.data_type);
    if (!(written == cursor.value())) document_.Set("data_type", written);
    // Old writers used numbers as fill values of booleans, which some readers refuse.
    const JsonValue* fill_value = source_.value().Find("fill_value");
    if (node_.data_type == "bool" && fill_value != nullptr && fill_value->is_number() &&
        (fill_value->text() == "0" || fill_value->text() == "1")) {
      document_.Set("fill_value", JsonValue::Boolean(fill_value->text() == "1"));
    }
    return {};
  }

  // Sets node_.chunk_shape to the stored chunk shape; empty where the grid is not regular.
  Status TakeGrid() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, Member("chunk_grid"));
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue grid,
                             NormaliseMember(document_, member, "chunk_grid"));
    grid_name_ = grid.Find("name")->text();
    if (grid_name_ != "regular") return {};
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, member.Member("configuration"));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor chunk_shape, configuration.Member("chunk_shape"));
    UNSHARD_ASSIGN_OR_RETURN(node_.chunk_shape,
                             ParseChunkShape(chunk_shape, node_.shape, kMaxArrayExtent));
    auto stored = ChunkGrid::Make(node_.shape, node_.chunk_shape);
    if (!stored) return Forward(std::move(stored).error(), chunk_shape.path());
    stored_grid_ = *std::move(stored);
    return {};
  }

  // Nothing where its type is not known, or it is damaged: chunks of such arrays are files as well.
  [[nodiscard]] std::optional<FillItem> FillValue() const {
    const auto type = FindDataType(DataTypeDialect::kZarr, node_.data_type);
    const JsonValue* const value = source_.value().Find("fill_value");
    if (!type || value == nullptr) return std::nullopt;
    auto item = ParseFillValue(JsonCursor(*value, "fill_value"), *type);
    if (!item) return std::nullopt;
    return FillItem{*type, *std::move(item)};
  }

  Result<ChainSpec> Unshard(const ChainSpec& chain) {
    if (grid_name_ != "regular") {
      return Fail(ErrorCode::kNotSupported, MemberPath(path_, "chunk_grid") +
                                                ": sharding is not supported with the grid \"" +
                                                grid_name_ + "\"; expected \"regular\"");
    }
    UNSHARD_ASSIGN_OR_RETURN(ZarrSharding sharding,
                             ResolveSharding(chain, node_.chunk_shape, FillValue()));
    ZarrShardedArray array;
    auto grid = ChunkGrid::Make(node_.shape, sharding.chunk_shape);
    if (!grid) return Forward(std::move(grid).error(), MemberPath(path_, "codecs"));
    array.grid = *std::move(grid);
    array.shard_grid = stored_grid_;
    UNSHARD_ASSIGN_OR_RETURN(
        array.key_encoding,
        ParseZarr3KeyEncoding(JsonCursor(key_encoding_, MemberPath(path_, "chunk_key_encoding"))));
    array.locator = MakeZarrChunkLocator(array.grid, array.shard_grid, sharding.levels);
    array.keys = MakeZarrShardKeys(array.shard_grid, array.key_encoding);
    array.layout_digest = ZarrLayoutDigest(source_.value());
    array.check = MakeZarrChunkCheck(sharding.flattened, sharding.chunk_shape, data_type_);
    auto format = MakeZarrShardFormat(std::move(sharding.levels), std::move(sharding.outer_codecs));
    if (!format) return Forward(std::move(format).error(), MemberPath(path_, "codecs"));
    array.format = *std::move(format);
    node_.sharded = std::move(array);
    node_.chunk_shape = sharding.chunk_shape;
    document_.Find("chunk_grid")
        ->Find("configuration")
        ->Set("chunk_shape", ExtentsJson(node_.chunk_shape));
    return std::move(sharding.flattened);
  }

  void SetCodecs(ChainSpec chain, const JsonValue& before) {
    std::vector<JsonValue> items;
    for (CodecSpec& codec : chain) items.push_back(std::move(codec.json));
    JsonValue codecs = JsonValue::Array(std::move(items));
    if (!(codecs == before)) document_.Set("codecs", std::move(codecs));
  }

  // In old documents null means that a member is absent.
  void DropNulls() {
    for (const char* key : {"dimension_names", "storage_transformers"}) {
      const JsonValue* member = document_.Find(key);
      if (member != nullptr && member->is_null()) document_.Erase(key);
    }
  }

  const JsonCursor source_;
  const std::string path_;
  JsonValue& document_;
  ZarrNode node_;
  std::string grid_name_;
  ChunkGrid stored_grid_;
  JsonValue data_type_;
  JsonValue key_encoding_;
};

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

Result<Rewritten> RewriteArray(JsonValue& document, const std::string& path) {
  const JsonValue source = LayoutOf(document);
  auto node = ArrayRewriter(source, document, path).Rewrite();
  if (node) return Rewritten{*std::move(node), !(LayoutOf(document) == source)};
  // Members keep their positions, and are dropped only when nothing can fail any more.
  for (const auto& [key, value] : source.members()) document.Set(key, value);
  return tl::unexpected<Error>(std::move(node).error());
}

Result<Rewritten> RewriteNode(JsonValue& document, const std::string& path) {
  const JsonCursor cursor(document, path);
  UNSHARD_RETURN_IF_ERROR(cursor.UnsignedMember("zarr_format", 3, 3));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type_cursor, cursor.Member("node_type"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string type, type_cursor.String());
  if (type == "array") return RewriteArray(document, path);
  if (type != "group") return type_cursor.Expected("\"array\" or \"group\"");
  Rewritten group;
  group.changed = RewriteConsolidated(document, path, group.node.warnings);
  return group;
}

}  // namespace

Result<ZarrNode> ParseZarrMetadata(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(JsonValue document, ParseJson(text));
  UNSHARD_ASSIGN_OR_RETURN(Rewritten rewritten, RewriteNode(document, ""));
  rewritten.node.unsharded_text = rewritten.changed ? WriteDocument(document) : std::string(text);
  return std::move(rewritten.node);
}

}  // namespace unshard
