// Edits of `zarr.json`.
//
// Three trees are walked side by side: the stored document, its unsharded form that the writer saw,
// and what the writer made of it. The last two are first brought into one form by the parser, so
// that short-hand names, null members and the like are no difference.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json_meaning.h"
#include "codec/layout_change.h"
#include "codec/metadata_merge.h"
#include "codec/zarr_fill_value.h"
#include "codec/zarr_metadata.h"

namespace unshard {
namespace {

// Members that say how chunks are stored, or what absent ones mean.
constexpr std::array<std::string_view, 9> kLayoutMembers = {
    "zarr_format",        "node_type",  "shape",  "data_type",           "chunk_grid",
    "chunk_key_encoding", "fill_value", "codecs", "storage_transformers"};

bool IsLayoutMember(std::string_view key) {
  return std::find(kLayoutMembers.begin(), kLayoutMembers.end(), key) != kLayoutMembers.end();
}

// What a configuration means where it lacks a member. An empty value: it means nothing to readers.
struct ConfigurationDefault {
  std::string_view name;
  std::string_view member;
  std::string_view value;
};
constexpr std::array<ConfigurationDefault, 7> kDefaults = {{{"bytes", "endian", "\"little\""},
                                                            {"zstd", "checksum", "false"},
                                                            {"numcodecs.zstd", "checksum", "false"},
                                                            {"blosc", "blocksize", "0"},
                                                            {"blosc", "typesize", ""},
                                                            {"default", "separator", "\"/\""},
                                                            {"v2", "separator", "\".\""}}};

bool IsDefault(std::string_view name, std::string_view member, const JsonValue& value) {
  return std::any_of(kDefaults.begin(), kDefaults.end(), [&](const ConfigurationDefault& known) {
    return known.name == name && known.member == member &&
           (known.value.empty() || known.value == WriteJson(value, 0));
  });
}

// True where each member of `a` stands in `b` as well or says only what its absence means.
bool Covers(std::string_view name, const JsonValue& a, const JsonValue& b) {
  return std::all_of(a.members().begin(), a.members().end(), [&](const auto& member) {
    const JsonValue* other = b.Find(member.first);
    return other != nullptr ? SameMeaning(member.second, *other)
                            : IsDefault(name, member.first, member.second);
  });
}

std::string NameOf(const JsonValue& extension) {
  const JsonValue* name = extension.is_string() ? &extension : extension.Find("name");
  return name != nullptr ? name->text() : "";
}

// Extension points in the parser's form: the same name, and configurations that differ at most in
// what is spelled out.
bool SameExtension(const JsonValue& a, const JsonValue& b) {
  const JsonValue none = JsonValue::Object();
  const std::string name = NameOf(a);
  if (name != NameOf(b)) return false;
  JsonValue rest_of_a = a;
  JsonValue rest_of_b = b;
  if (a.is_object()) rest_of_a.Erase("configuration");
  if (b.is_object()) rest_of_b.Erase("configuration");
  if (a.is_object() && b.is_object() && !SameMeaning(rest_of_a, rest_of_b)) return false;
  const JsonValue* x = a.Find("configuration");
  const JsonValue* y = b.Find("configuration");
  if (x == nullptr) x = &none;
  if (y == nullptr) y = &none;
  return Covers(name, *x, *y) && Covers(name, *y, *x);
}

// A codec of values of one byte has no byte order, whatever it says.
bool HasByteOrder(const JsonValue& data_type) {
  const std::string name = NameOf(data_type);
  return name != "bool" && name != "int8" && name != "uint8";
}

bool SameCodecs(const JsonValue& a, const JsonValue& b, bool byte_order) {
  const auto same = [&](JsonValue x, JsonValue y) {
    if (!byte_order && NameOf(x) == "bytes" && NameOf(y) == "bytes") return true;
    return SameExtension(x, y);
  };
  return a.is_array() && b.is_array() &&
         std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same);
}

// Absent, null and an empty value of the kind say the same.
bool SaysNothing(std::string_view key, const JsonValue* value) {
  if (value == nullptr || value->is_null()) return true;
  if (key == "attributes") return value->is_object() && value->members().empty();
  return key == "dimension_names" &&
         std::all_of(value->items().begin(), value->items().end(),
                     [](const JsonValue& name) { return name.is_null(); });
}

Status CheckArrayLayout(const JsonValue& before, const JsonValue& after, const std::string& path) {
  const auto refuse = [&](std::string_view key) {
    return RefuseLayoutChange(MemberPath(path, key), before.Find(key), after.Find(key));
  };
  // The parser saw to it that the members are there, apart from the fill value.
  UNSHARD_RETURN_IF_ERROR(
      ExpectSame(MemberPath(path, "shape"), before.Find("shape"), after.Find("shape")));
  for (const std::string_view key : {"data_type", "chunk_grid", "chunk_key_encoding"}) {
    if (!SameExtension(*before.Find(key), *after.Find(key))) return refuse(key);
  }
  const JsonValue& data_type = *before.Find("data_type");
  const JsonValue* fill_before = before.Find("fill_value");
  const JsonValue* fill_after = after.Find("fill_value");
  const bool both = fill_before != nullptr && fill_after != nullptr;
  const bool same_fill = both ? SameFillValue(NameOf(data_type), *fill_before, *fill_after)
                              : fill_before == fill_after;
  if (!same_fill) return refuse("fill_value");
  if (!SameCodecs(*before.Find("codecs"), *after.Find("codecs"), HasByteOrder(data_type))) {
    return refuse("codecs");
  }
  return {};
}

// The names of dimensions are as many as the dimensions.
Status CheckDimensionNames(const JsonValue& after, const std::string& path) {
  const JsonValue* names = after.Find("dimension_names");
  const JsonValue* shape = after.Find("shape");
  if (names == nullptr || names->is_null() || shape == nullptr) return {};
  if (names->is_array() && names->items().size() == shape->items().size()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              MemberPath(path, "dimension_names") + ": expected one name for each dimension");
}

// An array without shards stands in the store as it is shown, so that any edit of it is right.
bool PassesThrough(const ZarrNode& node) {
  return node.type == ZarrNode::Type::kArray && !node.sharded;
}

class ZarrMerger {
 public:
  // Whether anything changed.
  [[nodiscard]] bool changed() const { return changed_; }

  Status MergeNode(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                   const std::string& path) {
    UNSHARD_RETURN_IF_ERROR(ExpectSame(MemberPath(path, "node_type"), before.Find("node_type"),
                                       after.Find("node_type")));
    const bool is_array = before.Find("shape") != nullptr;
    if (is_array) {
      UNSHARD_RETURN_IF_ERROR(CheckArrayLayout(before, after, path));
    }
    std::vector<std::string> keys;
    for (const auto& member : before.members()) keys.push_back(member.first);
    for (const auto& member : after.members()) {
      if (before.Find(member.first) == nullptr) keys.push_back(member.first);
    }
    for (const std::string& key : keys) {
      if (IsLayoutMember(key)) continue;
      UNSHARD_RETURN_IF_ERROR(MergeMember(stored, before, after, key, path));
    }
    return {};
  }

 private:
  Status MergeMember(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                     const std::string& key, const std::string& path) {
    const JsonValue* was = before.Find(key);
    const JsonValue* is = after.Find(key);
    if (SaysNothing(key, was) && SaysNothing(key, is)) return {};
    if (was != nullptr && is != nullptr && SameMeaning(*was, *is)) return {};
    if (key == "consolidated_metadata" && is != nullptr && is->is_object()) {
      return MergeConsolidated(stored, was, *is, MemberPath(path, key));
    }
    if (key == "dimension_names") UNSHARD_RETURN_IF_ERROR(CheckDimensionNames(after, path));
    changed_ = true;
    ApplyMemberChange(stored, key, was, is);
    return {};
  }

  // Embedded copies of descendants are merged by the same rules.
  Status MergeConsolidated(JsonValue& stored, const JsonValue* before, const JsonValue& after,
                           const std::string& path) {
    const JsonValue none = JsonValue::Object();
    const JsonValue* nodes_before = before != nullptr ? before->Find("metadata") : nullptr;
    const JsonValue* nodes_after = after.Find("metadata");
    if (nodes_before == nullptr) nodes_before = &none;
    if (nodes_after == nullptr) nodes_after = &none;
    JsonValue merged = after;  // in the order of the writer, who may have sorted it anew
    JsonValue* merged_nodes = merged.Find("metadata");
    const JsonValue* old = stored.Find("consolidated_metadata");
    const JsonValue* stored_nodes = old != nullptr ? old->Find("metadata") : nullptr;
    for (const auto& [name, node] : nodes_after->members()) {
      const std::string node_path = path + ".metadata[\"" + name + "\"]";
      const JsonValue* node_before = nodes_before->Find(name);
      const JsonValue* stored_node = stored_nodes != nullptr ? stored_nodes->Find(name) : nullptr;
      if (node_before == nullptr || stored_node == nullptr) {
        UNSHARD_RETURN_IF_ERROR(CheckNewNode(node, node_path));
        continue;
      }
      JsonValue merged_node = *stored_node;
      UNSHARD_RETURN_IF_ERROR(MergeEmbedded(merged_node, *node_before, node, node_path));
      merged_nodes->Set(name, std::move(merged_node));
    }
    changed_ = changed_ || old == nullptr || !SameMeaning(*old, merged);
    if (old == nullptr || !SameMeaning(*old, merged)) {
      stored.Set("consolidated_metadata", std::move(merged));
    }
    return {};
  }

  // The stored form of an array that was not embedded before stands in another document.
  static Status CheckNewNode(const JsonValue& node, const std::string& path) {
    if (node.Find("shape") == nullptr) return {};
    return RefuseLayoutChange(
        path,
        "as this document does not tell how the chunks of an array that it did not hold "
        "before are stored");
  }

  Status MergeEmbedded(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                       const std::string& path) {
    if (SameMeaning(before, after)) return {};
    auto was = Normalise(before);
    auto is = Normalise(after);
    if (!was) return RefuseLayoutChange(path, &before, &after);
    if (!is) return Fail(ErrorCode::kInvalidArgument, path + ": " + is.error().message);
    const auto node = ParseZarrMetadata(WriteJson(stored, 0));
    if (node && PassesThrough(*node)) {
      ApplyChange(stored, *was, *is);
      return {};
    }
    return MergeNode(stored, *was, *is, path);
  }

  static Result<JsonValue> Normalise(const JsonValue& document) {
    UNSHARD_ASSIGN_OR_RETURN(const ZarrNode node, ParseZarrMetadata(WriteJson(document, 0)));
    return ParseJson(node.unsharded_text);
  }

  bool changed_ = false;
};

// The writer's document in the parser's form.
Result<JsonValue> ParseEditedZarr(std::string_view edited) {
  UNSHARD_RETURN_IF_ERROR(ParseEdited(edited));
  auto node = ParseZarrMetadata(edited);
  if (!node && node.error().code == ErrorCode::kNotSupported) {
    return RefuseLayoutChange("zarr.json", node.error().message);
  }
  if (!node) return Fail(ErrorCode::kInvalidArgument, node.error().message);
  if (node->sharded) {
    return RefuseLayoutChange("codecs",
                              "what is shown here is not sharded: expected the codecs "
                              "without sharding_indexed");
  }
  return ParseJson(node->unsharded_text);
}

}  // namespace

Result<std::string> MergeZarrMetadata(std::string_view original, std::string_view edited) {
  UNSHARD_ASSIGN_OR_RETURN(const ZarrNode node, ParseZarrMetadata(original));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored, ParseJson(original));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue before, ParseJson(node.unsharded_text));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue after, ParseEditedZarr(edited));
  if (PassesThrough(node)) {
    return std::string(SameMeaning(before, after) ? original : edited);
  }
  ZarrMerger merger;
  UNSHARD_RETURN_IF_ERROR(merger.MergeNode(stored, before, after, ""));
  if (!merger.changed()) return std::string(original);
  std::string merged = WriteJson(stored, IndentOf(original));
  // What was merged has to read as what was asked for: merging it once more finds no change.
  const auto again = ParseZarrMetadata(merged);
  if (!again) return Fail(ErrorCode::kInternal, "merged metadata: " + again.error().message);
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored_again, ParseJson(merged));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue shown, ParseJson(again->unsharded_text));
  ZarrMerger proof;
  const Status same = proof.MergeNode(stored_again, shown, after, "");
  if (!same || proof.changed()) {
    return Fail(ErrorCode::kInternal, "merged metadata do not read as the edit");
  }
  return merged;
}

}  // namespace unshard
