#include "codec/schema/index_domain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/core/text.h"

namespace unshard {
namespace {

// One bound as it is written: infinite ones have the value `infinite`.
struct Bound {
  std::int64_t value = 0;
  bool implicit = false;
};

struct BoundForm {
  const char* name;
  std::int64_t min;  // inclusive
  std::int64_t max;
  std::int64_t infinite;  // min or max: what `infinity` stands for
  const char* infinity;
};

constexpr BoundForm kInclusiveMin = {"inclusive_min", -kInfiniteIndex, kInfiniteIndex,
                                     -kInfiniteIndex, "-inf"};
constexpr BoundForm kInclusiveMax = {"inclusive_max", -kInfiniteIndex, kInfiniteIndex,
                                     kInfiniteIndex, "+inf"};
constexpr BoundForm kExclusiveMax = {"exclusive_max", -kInfiniteIndex, kInfiniteIndex + 1,
                                     kInfiniteIndex + 1, "+inf"};
constexpr BoundForm kShape = {"shape", 0, 2 * kInfiniteIndex + 1, 2 * kInfiniteIndex + 1, "+inf"};

Result<std::int64_t> ParseLimit(const JsonCursor& json, const BoundForm& form) {
  if (!json.value().is_string()) return json.Integer(form.min, form.max);
  const std::string& text = json.value().text();
  if (text == form.infinity) return form.infinite;
  const auto value = ParseNumber<std::int64_t>(text);
  if (value && *value >= form.min && *value <= form.max) return *value;
  return json.Expected("a whole number or \"" + std::string(form.infinity) + "\"");
}

Result<Bound> ParseBound(const JsonCursor& json, const BoundForm& form) {
  Bound bound;
  if (!json.value().is_array()) {
    UNSHARD_ASSIGN_OR_RETURN(bound.value, ParseLimit(json, form));
    return bound;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
  if (items.size() != 1) {
    return json.Expected("a number, or an array of one number for an implicit bound");
  }
  bound.implicit = true;
  UNSHARD_ASSIGN_OR_RETURN(bound.value, ParseLimit(items[0], form));
  return bound;
}

// The number of dimensions, which everything must agree on.
class Rank {
 public:
  Status Set(const JsonCursor& at, std::size_t rank) {
    if (rank_ && *rank_ != rank) {
      return at.Expected("one item for each of the " + std::to_string(*rank_) + " dimensions");
    }
    rank_ = rank;
    return {};
  }
  [[nodiscard]] const std::optional<std::size_t>& get() const { return rank_; }

 private:
  std::optional<std::size_t> rank_;
};

Result<std::vector<JsonCursor>> Items(const JsonCursor& json, Rank& rank) {
  UNSHARD_ASSIGN_OR_RETURN(auto items, DimensionsOf(json));
  UNSHARD_RETURN_IF_ERROR(rank.Set(json, items.size()));
  return items;
}

// Nothing where the domain has no such member.
Result<std::optional<std::vector<Bound>>> ParseBounds(const JsonCursor& domain,
                                                      const BoundForm& form, Rank& rank) {
  const auto member = MemberOf(domain, form.name);
  if (!member) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto items, Items(*member, rank));
  std::vector<Bound> bounds;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const Bound bound, ParseBound(item, form));
    bounds.push_back(bound);
  }
  return bounds;
}

Result<std::vector<std::string>> ParseLabels(const JsonCursor& domain, Rank& rank) {
  std::vector<std::string> labels;
  const auto member = MemberOf(domain, "labels");
  if (!member) return labels;
  UNSHARD_ASSIGN_OR_RETURN(const auto items, Items(*member, rank));
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(std::string label, item.String());
    if (!label.empty() && std::find(labels.begin(), labels.end(), label) != labels.end()) {
      return item.Expected("a label that no other dimension has");
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

// Sets the upper bound of a dimension that has its lower one. Nothing: there is no such interval.
std::optional<std::int64_t> InclusiveMax(const BoundForm& form, std::int64_t lower,
                                         std::int64_t value) {
  if (value == form.infinite) return kInfiniteIndex;
  std::int64_t upper = value;
  if (form.name == kExclusiveMax.name) upper = value - 1;
  if (form.name == kShape.name) {
    // An extent is not known where the lower bound is infinite.
    if (lower == -kInfiniteIndex || value > kInfiniteIndex - lower + 1) return std::nullopt;
    upper = lower + value - 1;
  }
  if (upper < lower - 1 || upper > kInfiniteIndex) return std::nullopt;
  return upper;
}

const BoundForm* UpperForm(const JsonCursor& json) {
  for (const BoundForm* form : {&kShape, &kInclusiveMax, &kExclusiveMax}) {
    if (json.value().Find(form->name) != nullptr) return form;
  }
  return nullptr;
}

JsonValue BoundJson(std::int64_t value, const BoundForm& form, bool implicit) {
  JsonValue bound =
      value == form.infinite ? JsonValue::String(form.infinity) : IntegerNumber(value);
  return implicit ? JsonValue::Array({std::move(bound)}) : bound;
}

template <class... Parts>
tl::unexpected<Error> Mismatch(std::size_t dimension, const Parts&... parts) {
  return Fail(ErrorCode::kInvalidArgument, "domain: dimension ", dimension, ": ", parts...);
}

// `which`: "lower" or "upper".
Result<Bound> MergeBound(const Bound& a, const Bound& b, std::int64_t infinite,
                         std::size_t dimension, const char* which) {
  if (a.value == infinite && a.implicit) return b;
  if (b.value == infinite && b.implicit) return a;
  if (a.value == b.value) return Bound{a.value, a.implicit && b.implicit};
  return Mismatch(dimension, "the ", which, " bounds ", a.value, " and ", b.value, " differ");
}

}  // namespace

bool IndexDomain::finite() const {
  return std::all_of(dimensions.begin(), dimensions.end(),
                     [](const DomainDimension& one) { return one.finite(); });
}

std::vector<std::int64_t> IndexDomain::shape() const {
  std::vector<std::int64_t> extents;
  for (const DomainDimension& one : dimensions) extents.push_back(one.size());
  return extents;
}

std::vector<std::int64_t> IndexDomain::origin() const {
  std::vector<std::int64_t> lower;
  for (const DomainDimension& one : dimensions) lower.push_back(one.inclusive_min);
  return lower;
}

std::vector<std::string> IndexDomain::labels() const {
  std::vector<std::string> labels;
  for (const DomainDimension& one : dimensions) labels.push_back(one.label);
  return labels;
}

bool IndexDomain::labelled() const {
  return std::any_of(dimensions.begin(), dimensions.end(),
                     [](const DomainDimension& one) { return !one.label.empty(); });
}

IndexDomain DomainOfShape(const std::vector<std::int64_t>& shape) {
  IndexDomain domain;
  for (const std::int64_t extent : shape)
    domain.dimensions.push_back({0, extent - 1, false, false, {}});
  return domain;
}

Result<IndexDomain> ParseIndexDomain(const JsonCursor& json) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(
      json, {"rank", "inclusive_min", "inclusive_max", "shape", "exclusive_max", "labels"}));
  if (json.value().members().empty()) {
    return json.Expected("inclusive_min, exclusive_max, inclusive_max, shape, labels or rank");
  }
  Rank rank;
  if (const auto member = MemberOf(json, "rank")) {
    UNSHARD_ASSIGN_OR_RETURN(const auto value, member->Unsigned(0, kMaxRank));
    UNSHARD_RETURN_IF_ERROR(rank.Set(*member, static_cast<std::size_t>(value)));
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto lower, ParseBounds(json, kInclusiveMin, rank));
  const BoundForm* const form = UpperForm(json);
  std::optional<std::vector<Bound>> upper;
  if (form != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(upper, ParseBounds(json, *form, rank));
    for (const BoundForm* other : {&kInclusiveMax, &kExclusiveMax}) {
      if (other != form && json.value().Find(other->name) != nullptr) {
        return json.Expected("only one of shape, inclusive_max and exclusive_max");
      }
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto labels, ParseLabels(json, rank));

  IndexDomain domain;
  domain.dimensions.resize(rank.get().value_or(0));
  for (std::size_t i = 0; i < domain.rank(); ++i) {
    DomainDimension& one = domain.dimensions[i];
    if (!labels.empty()) one.label = labels[i];
    if (lower) {
      one.inclusive_min = (*lower)[i].value;
      one.implicit_lower = (*lower)[i].implicit;
    } else if (form == &kShape) {
      one.inclusive_min = 0;
      one.implicit_lower = false;
    }
    if (!upper) continue;
    const auto max = InclusiveMax(*form, one.inclusive_min, (*upper)[i].value);
    if (!max || one.inclusive_min == kInfiniteIndex) {
      return Mismatch(i, "its upper bound is below its lower bound");
    }
    one.inclusive_max = *max;
    one.implicit_upper = (*upper)[i].implicit;
  }
  return domain;
}

JsonValue IndexDomainJson(const IndexDomain& domain) {
  std::vector<JsonValue> lower;
  std::vector<JsonValue> upper;
  std::vector<JsonValue> labels;
  bool any_lower = false;
  bool any_upper = false;
  for (const DomainDimension& one : domain.dimensions) {
    any_lower |= one.inclusive_min != -kInfiniteIndex || !one.implicit_lower;
    any_upper |= one.inclusive_max != kInfiniteIndex || !one.implicit_upper;
    lower.push_back(BoundJson(one.inclusive_min, kInclusiveMin, one.implicit_lower));
    upper.push_back(BoundJson(one.inclusive_max + 1, kExclusiveMax, one.implicit_upper));
    labels.push_back(JsonValue::String(one.label));
  }
  JsonValue object = JsonValue::Object();
  if (any_lower) object.Set("inclusive_min", JsonValue::Array(std::move(lower)));
  if (any_upper) object.Set("exclusive_max", JsonValue::Array(std::move(upper)));
  if (domain.labelled()) object.Set("labels", JsonValue::Array(std::move(labels)));
  if (object.members().empty()) object.Set("rank", JsonValue::Number(domain.rank()));
  return object;
}

Result<IndexDomain> MergeDomains(const IndexDomain& a, const IndexDomain& b) {
  if (a.rank() != b.rank()) {
    return Fail(ErrorCode::kInvalidArgument, "domain: conflicting ranks ", a.rank(), " and ",
                b.rank());
  }
  IndexDomain merged = a;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    const DomainDimension& one = a.dimensions[i];
    const DomainDimension& other = b.dimensions[i];
    DomainDimension& into = merged.dimensions[i];
    if (!one.label.empty() && !other.label.empty() && one.label != other.label) {
      return Mismatch(i, "the labels \"", one.label, "\" and \"", other.label, "\" differ");
    }
    if (one.label.empty()) into.label = other.label;
    UNSHARD_ASSIGN_OR_RETURN(
        const Bound lower,
        MergeBound({one.inclusive_min, one.implicit_lower},
                   {other.inclusive_min, other.implicit_lower}, -kInfiniteIndex, i, "lower"));
    UNSHARD_ASSIGN_OR_RETURN(
        const Bound upper,
        MergeBound({one.inclusive_max, one.implicit_upper},
                   {other.inclusive_max, other.implicit_upper}, kInfiniteIndex, i, "upper"));
    if (upper.value < lower.value - 1) {
      return Mismatch(i, "its upper bound is below its lower bound");
    }
    into.inclusive_min = lower.value;
    into.implicit_lower = lower.implicit;
    into.inclusive_max = upper.value;
    into.implicit_upper = upper.implicit;
  }
  return merged;
}

}  // namespace unshard
