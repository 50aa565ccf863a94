#include "codec/schema/json_reading.h"

#include <algorithm>
#include <utility>

namespace unshard {

Status ExpectOnlyMembers(const JsonCursor& object, std::initializer_list<std::string_view> names) {
  UNSHARD_RETURN_IF_ERROR(object.ExpectObject());
  for (const auto& [key, value] : object.value().members()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string known;
    for (const std::string_view name : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
    return Fail(ErrorCode::kDataLoss, MemberPath(object.path(), key),
                ": unknown member; known members: ", known);
  }
  return {};
}

std::optional<JsonCursor> MemberOf(const JsonCursor& object, std::string_view name) {
  const JsonValue* const member = object.value().Find(name);
  if (member == nullptr) return std::nullopt;
  return JsonCursor(*member, MemberPath(object.path(), name));
}

Result<std::vector<JsonCursor>> DimensionsOf(const JsonCursor& json) {
  if (!json.value().is_array()) return json.Expected("an array with one item for each dimension");
  return json.Items(kMaxRank);
}

JsonValue IntegerArray(const std::vector<std::int64_t>& values) {
  std::vector<JsonValue> items;
  for (const std::int64_t value : values) items.push_back(IntegerNumber(value));
  return JsonValue::Array(std::move(items));
}

}  // namespace unshard
