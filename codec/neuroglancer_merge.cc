// Edits of `info`: a table says which members decide how chunks are stored; everything else is
// taken over. Lists of scales and indices are compared item by item, in their order.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/json_meaning.h"
#include "codec/layout_change.h"
#include "codec/metadata_merge.h"
#include "codec/neuroglancer_info.h"

namespace unshard {
namespace {

using Type = NeuroglancerInfo::Type;

// A member that decides how chunks are stored, and the JSON that its absence stands for.
struct LayoutMember {
  std::string_view key;
  std::string_view fallback = "null";
};
using Layout = std::span<const LayoutMember>;

constexpr std::array<LayoutMember, 2> kVolume = {{{"data_type"}, {"num_channels", "1"}}};
constexpr std::array<LayoutMember, 7> kScale = {{{"key"},
                                                 {"size"},
                                                 {"chunk_sizes"},
                                                 {"voxel_offset", "[0, 0, 0]"},
                                                 {"encoding"},
                                                 {"compressed_segmentation_block_size"},
                                                 {"sharding"}}};
constexpr std::array<LayoutMember, 2> kMeshes = {{{"vertex_quantization_bits"}, {"sharding"}}};
constexpr std::array<LayoutMember, 2> kSkeletons = {{{"vertex_attributes", "[]"}, {"sharding"}}};
constexpr std::array<LayoutMember, 4> kAnnotations = {
    {{"dimensions"}, {"annotation_type"}, {"lower_bound"}, {"upper_bound"}}};
constexpr std::array<LayoutMember, 1> kProperty = {{{"type"}}};
constexpr std::array<LayoutMember, 4> kIndex = {
    {{"key"}, {"grid_shape"}, {"chunk_size"}, {"sharding"}}};

// Names of types and encodings come in any case.
bool IsName(std::string_view key) {
  return key == "data_type" || key == "encoding" || key == "annotation_type" || key == "type";
}

JsonValue InLowerCase(const JsonValue& value) {
  if (!value.is_string()) return value;
  std::string text = value.text();
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return JsonValue::String(std::move(text));
}

// The order of dimensions is that of coordinates.
bool SameOrder(const JsonValue* a, const JsonValue* b) {
  if (a == nullptr || b == nullptr) return true;
  return std::equal(a->members().begin(), a->members().end(), b->members().begin(),
                    b->members().end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

class InfoMerger {
 public:
  [[nodiscard]] bool changed() const { return changed_; }

  Status Merge(Type type, JsonValue& stored, const JsonValue& before, const JsonValue& after) {
    switch (type) {
      case Type::kVolume:
        UNSHARD_RETURN_IF_ERROR(MergeObject(stored, before, after, kVolume, {"scales"}, ""));
        return MergeList(stored, before, after, "scales", kScale);
      case Type::kMeshes:
        return MergeObject(stored, before, after, kMeshes, {}, "");
      case Type::kSkeletons:
        return MergeObject(stored, before, after, kSkeletons, {}, "");
      case Type::kAnnotations:
        return MergeAnnotations(stored, before, after);
      case Type::kOther:
        break;
    }
    return Fail(ErrorCode::kInternal, "an info of unknown type holds no shards");
  }

 private:
  using Keys = std::vector<std::string_view>;

  Status MergeAnnotations(JsonValue& stored, const JsonValue& before, const JsonValue& after) {
    if (!SameOrder(before.Find("dimensions"), after.Find("dimensions"))) {
      return RefuseLayoutChange("dimensions", before.Find("dimensions"), after.Find("dimensions"));
    }
    const Keys apart = {"by_id", "properties", "relationships", "spatial"};
    UNSHARD_RETURN_IF_ERROR(MergeObject(stored, before, after, kAnnotations, apart, ""));
    UNSHARD_RETURN_IF_ERROR(MergeList(stored, before, after, "properties", kProperty));
    UNSHARD_RETURN_IF_ERROR(MergeList(stored, before, after, "relationships", kIndex));
    UNSHARD_RETURN_IF_ERROR(MergeList(stored, before, after, "spatial", kIndex));
    JsonValue* index = stored.Find("by_id");
    const JsonValue* was = before.Find("by_id");
    const JsonValue* is = after.Find("by_id");
    if (index == nullptr || was == nullptr || is == nullptr) return ExpectSame("by_id", was, is);
    return MergeObject(*index, *was, *is, kIndex, {}, "by_id");
  }

  // Takes over the members that are neither in `layout` nor in `apart`.
  Status MergeObject(JsonValue& stored, const JsonValue& before, const JsonValue& after,
                     Layout layout, const Keys& apart, const std::string& path) {
    if (!stored.is_object() || !before.is_object() || !after.is_object()) {
      return ExpectSame(path, &before, &after);
    }
    Keys done = apart;
    done.emplace_back("@type");  // the same, or spelled out
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
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue fallback, ParseJson(member.fallback));
    const JsonValue* was = before.Find(member.key);
    const JsonValue* is = after.Find(member.key);
    const std::string member_path = MemberPath(path, member.key);
    if (was == nullptr || is == nullptr || !IsName(member.key)) {
      return ExpectSame(member_path, was, is, fallback);
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
      UNSHARD_RETURN_IF_ERROR(MergeObject(list->items()[i], was->items()[i], is->items()[i], layout,
                                          {}, ItemPath(key, i)));
    }
    return {};
  }

  void Take(JsonValue& stored, const std::string& key, const JsonValue* before,
            const JsonValue* after) {
    if (before != nullptr && after != nullptr && SameMeaning(*before, *after)) return;
    changed_ = true;
    ApplyMemberChange(stored, key, before, after);
  }

  bool changed_ = false;
};

}  // namespace

bool SameNeuroglancerLayout(std::string_view a, std::string_view b) {
  const auto info = ParseNeuroglancerInfo(a);
  const auto other = ParseNeuroglancerInfo(b);
  if (!info || !other || info->type != other->type) return false;
  if (info->type == Type::kOther) return false;
  const auto before = ParseJson(a);
  const auto after = ParseJson(b);
  if (!before || !after) return false;
  JsonValue unused = *before;
  return InfoMerger().Merge(info->type, unused, *before, *after).has_value();
}

Result<std::string> MergeNeuroglancerInfo(std::string_view original, std::string_view edited) {
  UNSHARD_ASSIGN_OR_RETURN(const NeuroglancerInfo info, ParseNeuroglancerInfo(original));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored, ParseJson(original));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue before, ParseJson(info.unsharded_text));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue after, ParseEdited(edited));
  const auto parsed = ParseNeuroglancerInfo(edited);
  if (!parsed) return Fail(ErrorCode::kInvalidArgument, parsed.error().message);
  // Without shards an info stands in the store as it is shown, so that any edit of it is right.
  if (info.sharded.empty()) return std::string(SameMeaning(before, after) ? original : edited);
  if (parsed->type != info.type) {
    return RefuseLayoutChange("@type", before.Find("@type"), after.Find("@type"));
  }
  InfoMerger merger;
  UNSHARD_RETURN_IF_ERROR(merger.Merge(info.type, stored, before, after));
  if (!merger.changed()) return std::string(original);
  std::string merged = WriteJson(stored, IndentOf(original));
  // What was merged has to read as what was asked for: merging it once more finds no change.
  const auto again = ParseNeuroglancerInfo(merged);
  if (!again) return Fail(ErrorCode::kInternal, "merged info: " + again.error().message);
  UNSHARD_ASSIGN_OR_RETURN(JsonValue stored_again, ParseJson(merged));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue shown, ParseJson(again->unsharded_text));
  InfoMerger proof;
  const Status same = proof.Merge(info.type, stored_again, shown, after);
  if (!same || proof.changed()) {
    return Fail(ErrorCode::kInternal, "the merged info does not read as the edit");
  }
  return merged;
}

}  // namespace unshard
