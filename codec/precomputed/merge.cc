// Changes of all members but those of layout_members.h are applied. Scales are matched by their
// keys, the indexes of annotations by their positions.
#include "codec/precomputed/merge.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/core/lower_case.h"
#include "codec/json/cursor.h"
#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/precomputed/info.h"
#include "codec/precomputed/layout_members.h"
#include "codec/shard/layout_change.h"

namespace unshard {
namespace {

using Type = NeuroglancerInfo::Type;

using Layout = std::span<const LayoutMember>;

JsonValue InLowerCase(const JsonValue& value) {
  return value.is_string() ? JsonValue::String(LowerCase(value.text())) : value;
}

// Whether the members are in the same order: that of `dimensions` is the order of coordinates.
bool SameOrder(const JsonValue* a, const JsonValue* b) {
  if (a == nullptr || b == nullptr) return true;
  return std::equal(a->members().begin(), a->members().end(), b->members().begin(),
                    b->members().end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

bool HasSharding(const JsonValue& scale) {
  const JsonValue* sharding = scale.Find("sharding");
  return sharding != nullptr && !sharding->is_null();
}

class InfoMerger {
 public:
  // `info`: the stored document. Both have to outlive the merger.
  InfoMerger(const NeuroglancerInfo& info, const HoldsChunks& holds_chunks)
      : info_(info), holds_chunks_(holds_chunks) {}

  [[nodiscard]] bool changed() const { return changed_; }

  Status Merge(Type type, JsonValue& stored, const JsonValue& before, const JsonValue& after) {
    switch (type) {
      case Type::kVolume:
        UNSHARD_RETURN_IF_ERROR(MergeObject(stored, before, after, kVolumeLayout, {"scales"}, ""));
        return MergeScales(stored, before, after);
      case Type::kMeshes:
        return MergeObject(stored, before, after, kMeshLayout, {}, "");
      case Type::kSkeletons:
        return MergeObject(stored, before, after, kSkeletonLayout, {}, "");
      case Type::kAnnotations:
        return MergeAnnotations(stored, before, after);
      case Type::kOther:
        break;
    }
    return Fail(ErrorCode::kInternal, "an info of unknown type has no shards");
  }

 private:
  using Keys = std::vector<std::string_view>;

  Status MergeAnnotations(JsonValue& stored, const JsonValue& before, const JsonValue& after) {
    if (!SameOrder(before.Find("dimensions"), after.Find("dimensions"))) {
      return RefuseLayoutChange("dimensions", before.Find("dimensions"), after.Find("dimensions"));
    }
    const Keys apart = {"by_id", "properties", "relationships", "spatial"};
    UNSHARD_RETURN_IF_ERROR(MergeObject(stored, before, after, kAnnotationLayout, apart, ""));
    UNSHARD_RETURN_IF_ERROR(MergeList(stored, before, after, "properties", kPropertyLayout));
    UNSHARD_RETURN_IF_ERROR(MergeList(stored, before, after, "relationships", kIndexLayout));
    UNSHARD_RETURN_IF_ERROR(MergeList(stored, before, after, "spatial", kIndexLayout));
    JsonValue* index = stored.Find("by_id");
    const JsonValue* was = before.Find("by_id");
    const JsonValue* is = after.Find("by_id");
    if (index == nullptr || was == nullptr || is == nullptr) return ExpectSame("by_id", was, is);
    return MergeObject(*index, *was, *is, kIndexLayout, {}, "by_id");
  }

  // Applies changes of the members that are neither in `layout` nor in `apart`.
  Status MergeObject(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                     Layout layout, const Keys& apart, const std::string& path) {
    if (!stored.is_object() || !before.is_object() || !after.is_object()) {
      return ExpectSame(path, &before, &after);
    }
    Keys done = apart;
    done.emplace_back("@type");  // equal, or absent in one of them
    for (const LayoutMember& member : layout) {
      UNSHARD_RETURN_IF_ERROR(CheckMember(member, before, after, path));
      done.push_back(member.key);
    }
    const auto is_done = [&](const std::string& key) {
      return std::find(done.begin(), done.end(), key) != done.end();
    };
    for (const auto& [key, value] : before.members()) {
      if (!is_done(key) && after.Find(key) == nullptr) Take(stored, key, &value, nullptr);
    }
    for (const auto& [key, value] : after.members()) {
      if (!is_done(key)) Take(stored, key, before.Find(key), &value);
    }
    return {};
  }

  static Status CheckMember(const LayoutMember& member, const JsonValue& before,
                            const JsonValue& after, const std::string& path) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue absent, ParseJson(member.absent));
    const JsonValue* was = before.Find(member.key);
    const JsonValue* is = after.Find(member.key);
    const std::string member_path = MemberPath(path, member.key);
    if (was == nullptr || is == nullptr || !member.is_name) {
      return ExpectSame(member_path, was, is, absent);
    }
    if (SameMeaning(InLowerCase(*was), InLowerCase(*is))) return {};
    return RefuseLayoutChange(member_path, was, is);
  }

  Status MergeList(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                   const char* key, Layout layout) {
    const JsonValue none = JsonValue::Array();
    JsonValue* list = stored.Find(key);
    const JsonValue* was = before.Find(key);
    const JsonValue* is = after.Find(key);
    const bool lists = list != nullptr && list->is_array() && was != nullptr && was->is_array() &&
                       is != nullptr && is->is_array();
    if (!lists) return ExpectSame(key, was, is, none);
    const std::size_t count = was->items().size();
    if (is->items().size() != count) {
      return RefuseLayoutChange(key, "expected " + std::to_string(count) + " items, found " +
                                         std::to_string(is->items().size()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      UNSHARD_RETURN_IF_ERROR(MergeObject(list->mutable_items()[i], was->items()[i], is->items()[i],
                                          layout, {}, ItemPath(key, i)));
    }
    return {};
  }

  [[nodiscard]] const VolumeScale* ShardedScale(std::size_t index) const {
    const VolumeScale& scale = info_.scales.at(index);
    return scale.sharded ? &scale : nullptr;
  }

  Status MergeScales(JsonValue& stored, const JsonValue& before, const JsonValue& after) {
    JsonValue* list = stored.Find("scales");
    const JsonValue* was = before.Find("scales");
    const JsonValue* is = after.Find("scales");
    if (is == nullptr || !is->is_array()) return ExpectSame("scales", was, is, JsonValue::Array());
    std::vector<bool> kept(was->items().size(), false);
    std::size_t first_left = 0;  // usually the scale that is matched next
    std::vector<JsonValue> merged;
    for (const JsonValue& scale : is->items()) {
      const std::string path = ItemPath("scales", merged.size());
      while (first_left < kept.size() && kept[first_left]) ++first_left;
      std::size_t at = first_left;
      while (at < kept.size() && (kept[at] || !SameKey(was->items()[at], scale))) ++at;
      if (at != merged.size()) changed_ = true;
      if (at < kept.size() && ShardedScale(at) != nullptr) {
        kept[at] = true;
        JsonValue own = list->items()[at];
        UNSHARD_RETURN_IF_ERROR(MergeObject(own, was->items()[at], scale, kScaleLayout, {}, path));
        merged.push_back(std::move(own));
        continue;
      }
      // New, or presented as it is stored.
      if (HasSharding(scale)) return RefuseNewShards(MemberPath(path, "sharding"));
      const bool same = at < kept.size() && SameMeaning(was->items()[at], scale);
      if (at < kept.size()) kept[at] = true;
      if (!same) changed_ = true;
      merged.push_back(same ? list->items()[at] : scale);
    }
    for (std::size_t at = 0; at < kept.size(); ++at) {
      if (kept[at]) continue;
      changed_ = true;
      UNSHARD_RETURN_IF_ERROR(CheckRemoval(at));
    }
    list->mutable_items() = std::move(merged);
    return {};
  }

  // Scales without a key, which are not sharded, are the same where all their members are.
  static bool SameKey(const JsonValue& a, const JsonValue& b) {
    const JsonValue* one = a.Find("key");
    const JsonValue* other = b.Find("key");
    if (one == nullptr && other == nullptr) return SameMeaning(a, b);
    return one != nullptr && other != nullptr && SameMeaning(*one, *other);
  }

  [[nodiscard]] Status CheckRemoval(std::size_t at) const {
    const VolumeScale* scale = ShardedScale(at);
    if (scale == nullptr) return {};
    bool holds = true;
    if (holds_chunks_) {
      UNSHARD_ASSIGN_OR_RETURN(holds, holds_chunks_(scale->directory));
    }
    if (!holds) return {};
    return RefuseLayoutChange(
        "scales", "the scale \"" + scale->directory + "\" has chunks; remove these first");
  }

  void Take(JsonValue& stored, const std::string& key, const JsonValue* before,
            const JsonValue* after) {
    if (before != nullptr && after != nullptr && SameMeaning(*before, *after)) return;
    changed_ = true;
    ApplyMemberChange(stored, key, before, after);
  }

  const NeuroglancerInfo& info_;
  const HoldsChunks& holds_chunks_;
  bool changed_ = false;
};

}  // namespace

Status CheckNewInfo(std::string_view edited) {
  const auto info = ParseNeuroglancerInfo(edited);
  if (!info || info->sharded.empty()) return {};
  const std::string& path = info->sharded.front().json_path;
  return RefuseNewShards(path.empty() ? "sharding" : MemberPath(path, "sharding"));
}

Result<std::string> MergeNeuroglancerInfo(std::string_view original, std::string_view edited,
                                          const HoldsChunks& holds_chunks) {
  UNSHARD_ASSIGN_OR_RETURN(const NeuroglancerInfo info, ParseNeuroglancerInfo(original));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored, ParseJson(original));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue before, ParseJson(info.unsharded_text));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue after, ParseEdited(edited));
  const auto parsed = ParseNeuroglancerInfo(edited);
  if (!parsed) return Fail(ErrorCode::kInvalidArgument, parsed.error().message);
  // An info without shards is presented as it is stored: any edit of it is legal.
  if (info.sharded.empty()) return std::string(SameMeaning(before, after) ? original : edited);
  if (parsed->type != info.type) {
    return RefuseLayoutChange("@type", before.Find("@type"), after.Find("@type"));
  }
  InfoMerger merger(info, holds_chunks);
  UNSHARD_RETURN_IF_ERROR(merger.Merge(info.type, stored, before, after));
  if (!merger.changed()) return std::string(original);
  std::string merged = WriteDocument(stored, IndentOf(original));
  // Proof: the merged document, once it is unsharded, equals the edit, so that a second merge finds
  // no change.
  const auto again = ParseNeuroglancerInfo(merged);
  if (!again) return Fail(ErrorCode::kInternal, "merged info: ", again.error().message);
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored_again, ParseJson(merged));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue shown, ParseJson(again->unsharded_text));
  InfoMerger proof(*again, holds_chunks);
  const Status same = proof.Merge(info.type, stored_again, shown, after);
  if (!same || proof.changed()) {
    return Fail(ErrorCode::kInternal, "the merged info differs from the edited one");
  }
  // Where its last shards are gone it is presented as it is stored.
  return again->sharded.empty() ? std::string(edited) : merged;
}

}  // namespace unshard
