#include "codec/schema/constraint.h"

#include "codec/json/number.h"
#include "codec/json/writer.h"

namespace unshard {

Constraints<std::int64_t> HardValues(const std::vector<std::int64_t>& values) {
  Constraints<std::int64_t> constraints;
  for (const std::int64_t value : values) constraints.push_back({value, Strength::kHard});
  return constraints;
}

Result<std::vector<JsonCursor>> DimensionsOf(const JsonCursor& json,
                                             std::optional<std::size_t>& rank) {
  if (!json.value().is_array()) return json.Expected("an array with one item for each dimension");
  UNSHARD_ASSIGN_OR_RETURN(auto items, json.Items(kMaxRank));
  if (items.size() != rank.value_or(items.size())) {
    return json.Expected("one item for each of the " + std::to_string(*rank) + " dimensions");
  }
  rank = items.size();
  return items;
}

JsonValue ConstraintJson(std::int64_t value) { return IntegerNumber(value); }
JsonValue ConstraintJson(double value) { return DoubleNumber(value); }
JsonValue ConstraintJson(const std::vector<std::size_t>& order) { return ExtentsJson(order); }

std::string ConstraintName(const std::string& name, Strength strength) {
  return strength == Strength::kHard ? name : name + "_soft_constraint";
}

tl::unexpected<Error> Conflict(const std::string& path, const JsonValue& a, const JsonValue& b) {
  return Fail(ErrorCode::kInvalidArgument, path, ": conflicting values: ", WriteJson(a, 0), " and ",
              WriteJson(b, 0));
}

}  // namespace unshard
