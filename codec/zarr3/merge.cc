// Three trees are walked side by side: the stored document, its unsharded form, which the writer
// read, and the document that the writer wrote. The parser first brings the last two into the form
// of current readers, so that short-hand names and null members make no difference.
#include "codec/zarr3/merge.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/shard/layout_change.h"
#include "codec/types/data_type.h"
#include "codec/types/fill_value.h"
#include "codec/zarr3/document.h"
#include "codec/zarr3/layout_digest.h"
#include "codec/zarr3/rectilinear.h"

namespace unshard {
namespace {

// Whether each member of `a` is also in `b`, or is what its absence means.
bool Covers(std::string_view name, const JsonValue& a, const JsonValue& b) {
  return std::all_of(a.members().begin(), a.members().end(), [&](const auto& member) {
    const JsonValue* other = b.Find(member.first);
    return other != nullptr ? SameMeaning(member.second, *other)
                            : IsZarrDefault(name, member.first, member.second);
  });
}

std::string NameOf(const JsonValue& extension) {
  const JsonValue* name = extension.is_string() ? &extension : extension.Find("name");
  return name != nullptr ? name->text() : "";
}

// Whether two extension points in the form of current readers have the same name, and
// configurations that differ at most in spelled-out defaults.
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

// Values of one byte have no byte order, whatever the configuration of the codec `bytes` says.
bool HasByteOrder(const JsonValue& data_type) {
  return DataTypeSize(DataTypeDialect::kZarr, NameOf(data_type)) != 1;
}

bool SameCodecs(const JsonValue& a, const JsonValue& b, bool byte_order) {
  const auto same = [&](JsonValue x, JsonValue y) {
    if (!byte_order && NameOf(x) == "bytes" && NameOf(y) == "bytes") return true;
    return SameExtension(x, y);
  };
  return a.is_array() && b.is_array() &&
         std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same);
}

// Absent, null and empty values mean the same.
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
  // The parser guarantees these members, except the fill value. Of a copy that a group embeds the
  // shape must not change: the array's own document decides it.
  const std::size_t rank = before.Find("shape")->items().size();
  if (!path.empty() || rank != after.Find("shape")->items().size()) {
    UNSHARD_RETURN_IF_ERROR(
        ExpectSame(MemberPath(path, "shape"), before.Find("shape"), after.Find("shape")));
  }
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

// Fails unless there is one name for each dimension.
Status CheckDimensionNames(const JsonValue& after, const std::string& path) {
  const JsonValue* names = after.Find("dimension_names");
  const JsonValue* shape = after.Find("shape");
  if (names == nullptr || names->is_null() || shape == nullptr) return {};
  if (names->is_array() && names->items().size() == shape->items().size()) return {};
  return Fail(ErrorCode::kInvalidArgument, MemberPath(path, "dimension_names"),
              ": expected one name for each dimension");
}

// An array without shards is presented as it is stored: any edit of it is legal.
bool PassesThrough(const ZarrNode& node) {
  return node.type == ZarrNode::Type::kArray && !node.sharded;
}

// The JSON path of a node in the document, for messages, and its path below the group.
struct NodePlace {
  std::string path;
  std::string node;
};

NodePlace PlaceOfCopy(const NodePlace& group, const std::string& name) {
  return {group.path + ".metadata[\"" + name + "\"]",
          group.node.empty() ? name : group.node + "/" + name};
}

class ZarrMerger {
 public:
  explicit ZarrMerger(const StoredNodes& stored_nodes) : stored_nodes_(stored_nodes) {}

  // Whether anything changed.
  [[nodiscard]] bool changed() const { return changed_; }

  Status MergeNode(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                   const NodePlace& place) {
    const std::string& path = place.path;
    UNSHARD_RETURN_IF_ERROR(ExpectSame(MemberPath(path, "node_type"), before.Find("node_type"),
                                       after.Find("node_type")));
    if (TextOf(before, "node_type") == "array") {
      UNSHARD_RETURN_IF_ERROR(CheckArrayLayout(before, after, path));
    }
    std::vector<std::string> keys;
    for (const auto& member : before.members()) keys.push_back(member.first);
    const JsonMemberIndex known(before);
    for (const auto& member : after.members()) {
      if (!known.Position(member.first)) keys.push_back(member.first);
    }
    for (const std::string& key : keys) {
      const bool own_shape = key == "shape" && path.empty();
      const ZarrMember* const known_member = FindZarrMember(key);
      if (known_member != nullptr && known_member->decides_layout && !own_shape) continue;
      UNSHARD_RETURN_IF_ERROR(MergeMember(stored, before, after, key, place));
    }
    if (TextOf(before, "node_type") == "array" && path.empty()) ReachShape(stored, before);
    return {};
  }

 private:
  // The list of shards of a rectilinear grid, or of chunks, grows with the array. `before` has the
  // inner chunks of shards.
  static void ReachShape(JsonValue& stored, const JsonValue& before) {
    JsonValue& grid = *stored.Find("chunk_grid");
    if (TextOf(grid, "name") != kRectilinear) return;
    const auto inner = JsonCursor(*before.Find("chunk_grid"), "").Member("configuration");
    const auto shape = *JsonCursor(*stored.Find("shape"), "").UnsignedItems(0, ~std::uint64_t{0});
    const auto unit = inner->Member("chunk_shape");
    ExtendRectilinearGrid(*grid.Find("configuration"), shape,
                          unit ? *unit->UnsignedItems(1, ~std::uint64_t{0})
                               : std::vector<std::uint64_t>(shape.size(), 1));
  }

  Status MergeMember(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                     const std::string& key, const NodePlace& place) {
    const JsonValue* was = before.Find(key);
    const JsonValue* is = after.Find(key);
    if (SaysNothing(key, was) && SaysNothing(key, is)) return {};
    if (was != nullptr && is != nullptr && SameMeaning(*was, *is)) return {};
    if (key == "consolidated_metadata" && is != nullptr && is->is_object()) {
      return MergeConsolidated(stored, was, *is, {MemberPath(place.path, key), place.node});
    }
    if (key == "dimension_names") UNSHARD_RETURN_IF_ERROR(CheckDimensionNames(after, place.path));
    changed_ = true;
    ApplyMemberChange(stored, key, was, is);
    return {};
  }

  // Embedded copies of descendants are merged by the same rules.
  Status MergeConsolidated(JsonValue& stored, const JsonValue* before, const JsonValue& after,
                           const NodePlace& place) {
    const JsonValue none = JsonValue::Object();
    const JsonValue* nodes_before = before != nullptr ? before->Find("metadata") : nullptr;
    const JsonValue* nodes_after = after.Find("metadata");
    if (nodes_before == nullptr) nodes_before = &none;
    if (nodes_after == nullptr) nodes_after = &none;
    JsonValue merged = after;  // in the order that the writer chose
    JsonValue* merged_nodes = merged.Find("metadata");
    const JsonMemberIndex was(*nodes_before);
    const JsonValue* old = stored.Find("consolidated_metadata");
    const JsonValue* stored_nodes = old != nullptr ? old->Find("metadata") : nullptr;
    const JsonMemberIndex stored_by_name(stored_nodes != nullptr ? *stored_nodes : none);
    const bool changed_before = changed_;
    for (std::size_t i = 0; i < nodes_after->members().size(); ++i) {
      const auto& [name, node] = nodes_after->members()[i];
      UNSHARD_ASSIGN_OR_RETURN(
          JsonValue merged_node,
          MergeCopy(stored_by_name.Find(name), was.Find(name), node, PlaceOfCopy(place, name)));
      merged_nodes->mutable_members()[i].second = std::move(merged_node);
    }
    // Only the result counts: a copy may have been merged into what was stored before.
    const bool changed = old == nullptr || !SameMeaning(*old, merged);
    changed_ = changed_before || changed;
    if (changed) stored.Set("consolidated_metadata", std::move(merged));
    return {};
  }

  // The stored form of a copy whose presented form is `after`. `stored` and `before`: both forms of
  // the copy that the original embeds; null where it embeds none.
  Result<JsonValue> MergeCopy(const JsonValue* stored, const JsonValue* before,
                              const JsonValue& after, const NodePlace& place) {
    const bool known = stored != nullptr && before != nullptr;
    if (known && SameMeaning(*before, after)) return *stored;
    const bool array = after.Find("shape") != nullptr;
    if (array && stored_nodes_) {
      // An embedded copy can be older than the array: the array's own document decides.
      auto document = stored_nodes_(place.node);
      if (!document) return Forward(std::move(document).error(), place.path);
      if (*document) return MergeIntoDocument(**document, after, place);
    }
    if (known) {
      JsonValue merged = *stored;
      UNSHARD_RETURN_IF_ERROR(MergeEmbedded(merged, *before, after, place));
      return merged;
    }
    if (!array) return NewGroup(after, place);
    if (stored_nodes_) return after;
    return RefuseLayoutChange(
        place.path,
        "this document has no copy of the array, so it is unknown how chunks are stored");
  }

  Result<JsonValue> MergeIntoDocument(const std::string& document, const JsonValue& after,
                                      const NodePlace& place) {
    const auto refuse = [&](const Error& error) {
      return RefuseLayoutChange(place.path,
                                "the document of this array cannot be read: " + error.message);
    };
    const auto before = ParseJson(document);
    if (!before) return refuse(before.error());
    if (SameMeaning(*before, after)) return after;
    const auto node = ParseZarrMetadata(*before);
    if (!node) return refuse(node.error());
    if (PassesThrough(*node)) return after;
    JsonValue merged = *before;
    UNSHARD_RETURN_IF_ERROR(MergeEmbedded(merged, *before, after, place));
    return merged;
  }

  // A new group can embed copies as well.
  Result<JsonValue> NewGroup(const JsonValue& after, const NodePlace& place) {
    const std::string key = "consolidated_metadata";
    const JsonValue* consolidated = after.Find(key);
    if (consolidated == nullptr || !consolidated->is_object()) return after;
    // A document that is no valid group is not rewritten when it is presented.
    if (!ParseZarrMetadata(after)) return after;
    JsonValue merged = after;
    merged.Erase(key);
    UNSHARD_RETURN_IF_ERROR(MergeConsolidated(merged, nullptr, *consolidated,
                                              {MemberPath(place.path, key), place.node}));
    return merged;
  }

  Status MergeEmbedded(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                       const NodePlace& place) {
    if (SameMeaning(before, after)) return {};
    auto was = UnshardedDocument(before);
    auto is = UnshardedDocument(after);
    if (!was) return RefuseLayoutChange(place.path, &before, &after);
    if (!is) return Fail(ErrorCode::kInvalidArgument, place.path, ": ", is.error().message);
    const auto node = ParseZarrMetadata(stored);
    if (node && PassesThrough(*node)) {
      ApplyChange(stored, *was, *is);
      return {};
    }
    return MergeNode(stored, *was, *is, place);
  }

  const StoredNodes& stored_nodes_;
  bool changed_ = false;
};

// The edited document in the form of current readers. Copies that a group embeds are left as they
// are: each is brought into this form when it is merged.
Result<JsonValue> ParseEditedZarr(std::string_view edited) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, ParseEdited(edited));
  auto node = ParseZarrMetadata(document);
  if (!node && node.error().code == ErrorCode::kNotSupported) {
    return RefuseLayoutChange("zarr.json", node.error().message);
  }
  if (!node) return Fail(ErrorCode::kInvalidArgument, node.error().message);
  if (node->sharded) {
    return RefuseLayoutChange(
        "codecs", "the mount shows this array without shards; leave out sharding_indexed");
  }
  return UnshardedDocument(document);
}

}  // namespace

Result<std::string> MergeZarrMetadata(std::string_view original, std::string_view edited,
                                      const StoredNodes& stored_nodes) {
  UNSHARD_ASSIGN_OR_RETURN(const ZarrNode node, ParseZarrMetadata(original));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored, ParseJson(original));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue before, ParseJson(node.unsharded_text));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue after, ParseEditedZarr(edited));
  if (PassesThrough(node)) {
    return std::string(SameMeaning(before, after) ? original : edited);
  }
  ZarrMerger merger(stored_nodes);
  UNSHARD_RETURN_IF_ERROR(merger.MergeNode(stored, before, after, {}));
  if (!merger.changed()) return std::string(original);
  std::string merged = WriteDocument(stored, IndentOf(original));
  // Proof: the merged document, once it is unsharded, equals the edit, so that a second merge finds
  // no change, without the documents of other nodes.
  const auto again = ParseZarrMetadata(merged);
  if (!again) return Fail(ErrorCode::kInternal, "merged metadata: ", again.error().message);
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored_again, ParseJson(merged));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue shown, ParseJson(again->unsharded_text));
  const StoredNodes nowhere;
  ZarrMerger proof(nowhere);
  const Status same = proof.MergeNode(stored_again, shown, after, {});
  if (!same || proof.changed()) {
    return Fail(ErrorCode::kInternal, "the merged metadata differ from the edited ones");
  }
  return merged;
}

Result<std::string> CompleteZarrMetadata(std::string_view edited, const StoredNodes& stored_nodes) {
  const auto node = ParseZarrMetadata(edited);
  if (node && node->sharded) return RefuseNewShards("codecs");
  const auto given = ParseJson(edited);
  const bool group = node && node->type == ZarrNode::Type::kGroup && given;
  const JsonValue* consolidated = group ? given->Find("consolidated_metadata") : nullptr;
  if (consolidated == nullptr || !consolidated->is_object()) return std::string(edited);
  JsonValue without_copies = *given;
  without_copies.Erase("consolidated_metadata");
  UNSHARD_ASSIGN_OR_RETURN(
      std::string merged,
      MergeZarrMetadata(WriteDocument(without_copies, IndentOf(edited)), edited, stored_nodes));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue stored, ParseJson(merged));
  if (SameMeaning(stored, *given)) return std::string(edited);
  return merged;
}

}  // namespace unshard
