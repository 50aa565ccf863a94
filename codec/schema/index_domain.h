// The `domain` of a TensorStore Schema: bounds and labels of dimensions. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/schema/constraint.h"

namespace unshard {

// One end of a dimension, inclusive. An implicit one may change later (JSON: a list of one number).
struct Bound {
  std::int64_t value = 0;  // -kInfiniteIndex below, kInfiniteIndex above: there is none
  bool implicit = false;
  friend bool operator==(const Bound&, const Bound&) = default;
};
constexpr Bound kNoLower = {-kInfiniteIndex, true};
constexpr Bound kNoUpper = {kInfiniteIndex, true};

struct DomainDimension {
  Bound lower = kNoLower;
  Bound upper = kNoUpper;
  std::string label = {};

  // 0 where the dimension is empty. Requires: finite.
  [[nodiscard]] std::int64_t size() const { return upper.value - lower.value + 1; }
  [[nodiscard]] bool finite() const {
    return lower.value > -kInfiniteIndex && upper.value < kInfiniteIndex;
  }
};

struct IndexDomain {
  std::vector<DomainDimension> dimensions;

  [[nodiscard]] std::size_t rank() const { return dimensions.size(); }
  [[nodiscard]] bool finite() const;
  // Requires: finite.
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] std::vector<std::int64_t> origin() const;
  [[nodiscard]] std::vector<std::string> labels() const;
  // Whether any dimension has a label.
  [[nodiscard]] bool labelled() const;
};

// Parses inclusive_min, one of exclusive_max, inclusive_max and shape, labels and rank. Fails,
// naming the JSON path, where they contradict each other, or a label occurs twice.
Result<IndexDomain> ParseIndexDomain(const JsonCursor& json);
// The JSON form that TensorStore prints.
JsonValue IndexDomainJson(const IndexDomain& domain);

// The domain that agrees with both: implicit infinite bounds and empty labels take the value of the
// other domain, and everything else must be equal. Fails with kInvalidArgument, naming the
// dimension.
Result<IndexDomain> MergeDomains(const IndexDomain& a, const IndexDomain& b);

}  // namespace unshard
