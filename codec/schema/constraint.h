// Hard and soft constraints of a TensorStore Schema, and how they are merged. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

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

// Whether `value` may be merged into `into`: two hard constraints must be the same.
template <class T>
bool Agree(const Constraint<T>& into, const Constraint<T>& value) {
  return !into.hard() || !value.hard() || *into.value == *value.value;
}

// A hard value replaces a soft one. A soft value is taken only where there is none: the first soft
// constraint wins. Requires: Agree.
template <class T>
void MergeConstraint(Constraint<T>& into, const Constraint<T>& value) {
  if (!value.value) return;
  if (!value.hard() && into.value) return;
  into.value = value.value;
  if (value.hard()) into.strength = Strength::kHard;
}

// Merges all dimensions or, where one of them has conflicting hard constraints, none. Requires:
// the same rank, or an empty list.
template <class T>
Status MergeConstraints(Constraints<T>& into, const Constraints<T>& values) {
  if (into.empty()) into.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Agree(into[i], values[i])) continue;
    return Fail(ErrorCode::kInvalidArgument, "dimension ", i, " has conflicting hard constraints");
  }
  for (std::size_t i = 0; i < values.size(); ++i) MergeConstraint(into[i], values[i]);
  return {};
}

}  // namespace unshard
