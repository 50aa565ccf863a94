#include "codec/schema/index_domain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/core/text.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

// A member with one bound of each dimension: the numbers that it may have. `infinite`, which is the
// first or the last of them, stands for no bound, and so does the text `infinity`.
struct BoundForm {
  const char* name;
  std::int64_t min;
  std::int64_t max;
  std::int64_t infinite;
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

// The numbers are those of `form`.
Result<std::vector<Bound>> ParseBounds(const JsonCursor& json, const BoundForm& form,
                                       std::optional<std::size_t>& rank) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json, rank));
  std::vector<Bound> bounds;
  for (const JsonCursor& item : items) {
    Bound& bound = bounds.emplace_back();
    bound.implicit = item.value().is_array();
    if (bound.implicit && item.value().items().size() != 1) {
      return item.Expected("a number, or an array of one number for an implicit bound");
    }
    const JsonCursor limit =
        bound.implicit ? JsonCursor(item.value().items().front(), ItemPath(item.path(), 0)) : item;
    UNSHARD_ASSIGN_OR_RETURN(bound.value, ParseLimit(limit, form));
  }
  return bounds;
}

Result<std::vector<std::string>> ParseLabels(const JsonCursor& json,
                                             std::optional<std::size_t>& rank) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json, rank));
  std::vector<std::string> labels;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(std::string label, item.String());
    if (!label.empty() && std::find(labels.begin(), labels.end(), label) != labels.end()) {
      return item.Expected("a label that no other dimension has");
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

// The inclusive upper bound of a dimension from `lower` on, from the number of `form`. Nothing
// where the number gives no interval of finite indices.
std::optional<std::int64_t> InclusiveMax(const BoundForm& form, std::int64_t lower,
                                         std::int64_t value) {
  if (lower == kInfiniteIndex) return std::nullopt;
  if (value == form.infinite) return kInfiniteIndex;
  if (&form == &kShape) {
    // An extent says nothing where the lower bound is infinite.
    if (lower == -kInfiniteIndex || value > kInfiniteIndex - lower + 1) return std::nullopt;
    return lower + value - 1;
  }
  const std::int64_t upper = &form == &kExclusiveMax ? value - 1 : value;
  return upper < lower - 1 ? std::nullopt : std::optional(upper);
}

JsonValue BoundJson(const Bound& bound, const BoundForm& form) {
  JsonValue limit =
      bound.value == form.infinite ? JsonValue::String(form.infinity) : IntegerNumber(bound.value);
  return bound.implicit ? JsonValue::Array({std::move(limit)}) : limit;
}

template <class... Parts>
tl::unexpected<Error> RefuseDimension(std::size_t dimension, const Parts&... parts) {
  return Fail(ErrorCode::kInvalidArgument, "domain: dimension ", dimension, ": ", parts...);
}

// `none`: what gives way to any other bound. `which`: "lower" or "upper".
Result<Bound> MergeBound(const Bound& a, const Bound& b, const Bound& none, std::size_t dimension,
                         const char* which) {
  if (a == none) return b;
  if (b == none) return a;
  if (a.value == b.value) return Bound{a.value, a.implicit && b.implicit};
  return RefuseDimension(dimension, "conflicting ", which, " bounds: ", a.value, " and ", b.value);
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
  for (const DomainDimension& one : dimensions) lower.push_back(one.lower.value);
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

Result<IndexDomain> ParseIndexDomain(const JsonCursor& json) {
  std::optional<std::size_t> rank;
  std::vector<Bound> lower, upper;
  std::vector<std::string> labels;
  const BoundForm* form = nullptr;  // of `upper`
  const auto read_upper = [&](const BoundForm& of_member) {
    return MemberReader{of_member.name, [&](const JsonCursor& at) -> Status {
                          if (form != nullptr) {
                            return json.Expected(
                                "only one of shape, inclusive_max and "
                                "exclusive_max");
                          }
                          form = &of_member;
                          return Assign(upper, ParseBounds(at, of_member, rank));
                        }};
  };
  if (json.value().is_object() && json.value().members().empty()) {
    return json.Expected("inclusive_min, exclusive_max, inclusive_max, shape, labels or rank");
  }
  UNSHARD_RETURN_IF_ERROR(json.ReadMembers(
      {{"rank", [&](const JsonCursor& at) { return Assign(rank, at.Unsigned(0, kMaxRank)); }},
       {kInclusiveMin.name,
        [&](const JsonCursor& at) { return Assign(lower, ParseBounds(at, kInclusiveMin, rank)); }},
       read_upper(kShape),
       read_upper(kInclusiveMax),
       read_upper(kExclusiveMax),
       {"labels", [&](const JsonCursor& at) { return Assign(labels, ParseLabels(at, rank)); }}}));
  if (lower.empty() && form == &kShape) lower.assign(upper.size(), {0, false});
  IndexDomain domain;
  domain.dimensions.resize(rank.value_or(0));
  for (std::size_t i = 0; i < domain.rank(); ++i) {
    DomainDimension& one = domain.dimensions[i];
    if (!labels.empty()) one.label = labels[i];
    if (!lower.empty()) one.lower = lower[i];
    if (form == nullptr) continue;
    const auto max = InclusiveMax(*form, one.lower.value, upper[i].value);
    if (!max) return RefuseDimension(i, "its upper bound is below its lower bound");
    one.upper = {*max, upper[i].implicit};
  }
  return domain;
}

JsonValue IndexDomainJson(const IndexDomain& domain) {
  std::vector<JsonValue> lower, upper, labels;
  bool any_lower = false;
  bool any_upper = false;
  for (const DomainDimension& one : domain.dimensions) {
    any_lower |= one.lower != kNoLower;
    any_upper |= one.upper != kNoUpper;
    lower.push_back(BoundJson(one.lower, kInclusiveMin));
    upper.push_back(BoundJson({one.upper.value + 1, one.upper.implicit}, kExclusiveMax));
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
    return Fail(ErrorCode::kInvalidArgument, "domain: conflicting ranks: ", a.rank(), " and ",
                b.rank());
  }
  IndexDomain merged = a;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    const DomainDimension& other = b.dimensions[i];
    DomainDimension& one = merged.dimensions[i];
    if (one.label.empty()) one.label = other.label;
    if (!other.label.empty() && one.label != other.label) {
      return RefuseDimension(i, "conflicting labels: \"", one.label, "\" and \"", other.label,
                             "\"");
    }
    UNSHARD_ASSIGN_OR_RETURN(one.lower, MergeBound(one.lower, other.lower, kNoLower, i, "lower"));
    UNSHARD_ASSIGN_OR_RETURN(one.upper, MergeBound(one.upper, other.upper, kNoUpper, i, "upper"));
    if (one.upper.value < one.lower.value - 1) {
      return RefuseDimension(i, "its upper bound is below its lower bound");
    }
  }
  return merged;
}

}  // namespace unshard
