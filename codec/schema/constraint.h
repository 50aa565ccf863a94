// Hard and soft constraints of a TensorStore Schema, on one value and on each dimension: how they
// are read, written and merged. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// Indices of TensorStore are below this in magnitude; this value stands for an absent bound.
constexpr std::int64_t kInfiniteIndex = (std::int64_t{1} << 62) - 1;
constexpr std::int64_t kMaxIndex = kInfiniteIndex - 1;
constexpr std::size_t kMaxRank = 32;

// A hard constraint must be met; a soft one is a wish.
enum class Strength { kSoft, kHard };

// One value that a schema may constrain.
template <class T>
struct Constraint {
  std::optional<T> value;  // nothing: not constrained
  Strength strength = Strength::kSoft;

  [[nodiscard]] bool hard() const { return value.has_value() && strength == Strength::kHard; }
};

// One for each dimension; empty: no dimension is constrained, whatever the rank.
template <class T>
using Constraints = std::vector<Constraint<T>>;

// Hard constraints of every dimension.
Constraints<std::int64_t> HardValues(const std::vector<std::int64_t>& values);

// --- JSON

// The items of an array with one for each dimension. Fails where their number is not `rank`, which
// it becomes where that is not known.
Result<std::vector<JsonCursor>> DimensionsOf(const JsonCursor& json,
                                             std::optional<std::size_t>& rank);

// A constrained value.
JsonValue ConstraintJson(std::int64_t value);
JsonValue ConstraintJson(double value);
JsonValue ConstraintJson(const std::vector<std::size_t>& order);

// The member for a constraint of this strength: "shape", "shape_soft_constraint".
std::string ConstraintName(const std::string& name, Strength strength);

// Adds the member for the constraint, if there is one.
template <class T>
void SetConstraint(JsonValue& object, const std::string& name, const Constraint<T>& one) {
  if (one.value) object.Set(ConstraintName(name, one.strength), ConstraintJson(*one.value));
}
// The same for each dimension: null where it has no constraint of this strength.
template <class T>
void SetConstraint(JsonValue& object, const std::string& name, const Constraints<T>& each) {
  for (const Strength strength : {Strength::kHard, Strength::kSoft}) {
    std::vector<JsonValue> items(each.size());
    bool any = false;
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (!each[i].value || each[i].strength != strength) continue;
      items[i] = ConstraintJson(*each[i].value);
      any = true;
    }
    if (any) object.Set(ConstraintName(name, strength), JsonValue::Array(std::move(items)));
  }
}

// --- Merging

// The failure of two hard constraints on one value: "path: conflicting values: 5 and 6".
tl::unexpected<Error> Conflict(const std::string& path, const JsonValue& a, const JsonValue& b);

// Adds a constraint: a hard one replaces a soft one, and of soft ones the first one wins. Fails at
// `path` where both are hard and differ, or their ranks do.
template <class T>
Status MergeConstraint(const std::string& path, Constraint<T>& into, const Constraint<T>& value) {
  if (!value.value || (into.value && !value.hard())) return {};
  if (into.hard() && *into.value != *value.value) {
    return Conflict(path, ConstraintJson(*into.value), ConstraintJson(*value.value));
  }
  into = value;
  return {};
}
template <class T>
Status MergeConstraint(const std::string& path, Constraints<T>& into,
                       const Constraints<T>& values) {
  if (into.empty()) into.resize(values.size());
  if (!values.empty() && values.size() != into.size()) {
    return Fail(ErrorCode::kInvalidArgument, path, ": conflicting ranks: ", into.size(), " and ",
                values.size());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    UNSHARD_RETURN_IF_ERROR(MergeConstraint(ItemPath(path, i), into[i], values[i]));
  }
  return {};
}

}  // namespace unshard
