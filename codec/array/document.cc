#include "codec/array/document.h"

#include <algorithm>
#include <utility>

namespace unshard {

Result<std::vector<std::uint64_t>> ParseChunkShape(const JsonCursor& extents,
                                                   const std::vector<std::uint64_t>& shape,
                                                   std::uint64_t most) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, extents.Items());
  std::vector<std::uint64_t> chunk_shape;
  for (std::size_t axis = 0; axis < items.size(); ++axis) {
    const bool is_empty = axis < shape.size() && shape[axis] == 0;
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t extent,
                             items[axis].Unsigned(is_empty ? 0 : 1, most));
    chunk_shape.push_back(std::max<std::uint64_t>(extent, 1));
  }
  return chunk_shape;
}

Result<std::vector<std::optional<std::string>>> ParseAxisNames(const JsonCursor& names,
                                                               std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, names.Items());
  if (items.size() != rank) return names.Expected("a name or null for each of the axes");
  std::vector<std::optional<std::string>> parsed;
  for (const JsonCursor& item : items) {
    if (item.value().is_null()) {
      parsed.emplace_back();
      continue;
    }
    UNSHARD_ASSIGN_OR_RETURN(std::string name, item.String());
    parsed.emplace_back(std::move(name));
  }
  return parsed;
}

JsonValue AxisNamesJson(const std::vector<std::optional<std::string>>& names) {
  std::vector<JsonValue> items;
  for (const auto& name : names) items.push_back(name ? JsonValue::String(*name) : JsonValue());
  return JsonValue::Array(std::move(items));
}

Status RefuseOrigin(const Array& array) {
  const bool at_zero = std::all_of(array.origin.begin(), array.origin.end(),
                                   [](std::int64_t coordinate) { return coordinate == 0; });
  if (at_zero) return {};
  return Fail(ErrorCode::kInvalidArgument, "the array does not begin at 0, and metadata of ",
              DialectName(array.dialect), " cannot express another origin");
}

}  // namespace unshard
