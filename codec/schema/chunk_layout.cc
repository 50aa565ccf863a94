#include "codec/schema/chunk_layout.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

bool IsPermutation(const std::vector<std::size_t>& order) {
  std::vector<bool> seen(order.size(), false);
  for (const std::size_t dimension : order) {
    if (dimension >= order.size() || seen[dimension]) return false;
    seen[dimension] = true;
  }
  return true;
}

template <class T>
bool NoneSet(const Constraints<T>& constraints) {
  return std::none_of(constraints.begin(), constraints.end(),
                      [](const Constraint<T>& one) { return one.value.has_value(); });
}

// --- Parsing

constexpr std::int64_t kMaxIndex = kInfiniteIndex - 1;

// A constraint for each dimension; null is none.
template <class T, class Read>
Result<Constraints<T>> ParseConstraints(const JsonCursor& json, const Read& read) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json));
  Constraints<T> constraints(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].value().is_null()) continue;
    UNSHARD_ASSIGN_OR_RETURN(constraints[i], read(items[i]));
  }
  return constraints;
}

Result<Constraints<std::int64_t>> ParseShape(const JsonCursor& json, Strength strength) {
  const auto read = [strength](const JsonCursor& item) -> Result<Constraint<std::int64_t>> {
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, item.Integer(-1, kMaxIndex));
    if (value == 0) return Constraint<std::int64_t>();
    return Constraint<std::int64_t>{value, value == -1 ? Strength::kSoft : strength};
  };
  return ParseConstraints<std::int64_t>(json, read);
}

Result<Constraints<double>> ParseAspectRatio(const JsonCursor& json, Strength strength) {
  const auto read = [strength](const JsonCursor& item) -> Result<Constraint<double>> {
    UNSHARD_ASSIGN_OR_RETURN(const double value, NumberAt(item));
    if (!std::isfinite(value) || value < 0) return item.Expected("a finite number of 0 or more");
    return value == 0 ? Constraint<double>() : Constraint<double>{value, strength};
  };
  return ParseConstraints<double>(json, read);
}

Result<Constraints<std::int64_t>> ParseOrigin(const JsonCursor& json, Strength strength) {
  const auto read = [strength](const JsonCursor& item) -> Result<Constraint<std::int64_t>> {
    UNSHARD_ASSIGN_OR_RETURN(const auto value, item.Integer(-kMaxIndex, kMaxIndex));
    return Constraint<std::int64_t>{value, strength};
  };
  return ParseConstraints<std::int64_t>(json, read);
}

Result<std::vector<std::size_t>> ParseOrder(const JsonCursor& json) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json));
  std::vector<std::size_t> order;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const auto value, item.Unsigned(0, kMaxRank - 1));
    order.push_back(static_cast<std::size_t>(value));
  }
  if (!IsPermutation(order)) return json.Expected("a permutation of the dimensions");
  return order;
}

// The member `name` as a hard constraint, then `name`_soft_constraint as a soft one.
template <class Take>
Status HardThenSoft(const JsonCursor& json, const std::string& name, const Take& take) {
  if (const auto member = MemberOf(json, name)) {
    UNSHARD_RETURN_IF_ERROR(take(*member, Strength::kHard));
  }
  const auto soft = MemberOf(json, name + "_soft_constraint");
  return soft ? take(*soft, Strength::kSoft) : Status();
}

// The result of merging the value at `json`, whose failure gets its path.
Status At(const JsonCursor& json, Status merged) {
  if (merged) return merged;
  return Forward(std::move(merged).error(), json.path());
}

struct Usages {
  std::vector<ChunkShapeConstraints*> of_shapes;
  std::vector<ChunkShapeConstraints*> of_ratios;
};

// Every constraint is merged as soon as it is read: the first soft one wins.
Status ReadChunk(ChunkLayout& layout, const JsonCursor& json, const Usages& usages) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(
      json, {"shape", "shape_soft_constraint", "aspect_ratio", "aspect_ratio_soft_constraint",
             "elements", "elements_soft_constraint"}));
  const auto merge = [&](const JsonCursor& at, const ChunkShapeConstraints& value,
                         const std::vector<ChunkShapeConstraints*>& into) -> Status {
    for (ChunkShapeConstraints* usage : into) {
      UNSHARD_RETURN_IF_ERROR(At(at, layout.SetChunk(*usage, value)));
    }
    return {};
  };
  const auto take_shape = [&](const JsonCursor& at, Strength strength) -> Status {
    ChunkShapeConstraints value;
    UNSHARD_ASSIGN_OR_RETURN(value.shape, ParseShape(at, strength));
    UNSHARD_RETURN_IF_ERROR(At(at, layout.SetRank(value.shape.size())));
    return merge(at, value, usages.of_shapes);
  };
  const auto take_ratio = [&](const JsonCursor& at, Strength strength) -> Status {
    ChunkShapeConstraints value;
    UNSHARD_ASSIGN_OR_RETURN(value.aspect_ratio, ParseAspectRatio(at, strength));
    UNSHARD_RETURN_IF_ERROR(At(at, layout.SetRank(value.aspect_ratio.size())));
    return merge(at, value, usages.of_ratios);
  };
  const auto take_elements = [&](const JsonCursor& at, Strength strength) -> Status {
    ChunkShapeConstraints value;
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t elements, at.Integer(0, kMaxIndex));
    value.elements = {elements, strength};
    return merge(at, value, usages.of_shapes);
  };
  UNSHARD_RETURN_IF_ERROR(HardThenSoft(json, "shape", take_shape));
  UNSHARD_RETURN_IF_ERROR(HardThenSoft(json, "aspect_ratio", take_ratio));
  return HardThenSoft(json, "elements", take_elements);
}

// --- Writing

template <class T, class Make>
void SetVector(JsonValue& object, const std::string& name, const Constraints<T>& constraints,
               const Make& make) {
  for (const Strength strength : {Strength::kHard, Strength::kSoft}) {
    std::vector<JsonValue> items;
    bool any = false;
    for (const Constraint<T>& one : constraints) {
      const bool shown = one.value && one.strength == strength;
      any |= shown;
      items.push_back(shown ? make(*one.value) : JsonValue());
    }
    const std::string key = strength == Strength::kHard ? name : name + "_soft_constraint";
    if (any) object.Set(key, JsonValue::Array(std::move(items)));
  }
}

void SetChunk(JsonValue& object, const char* name, const ChunkShapeConstraints& chunk) {
  if (chunk.empty()) return;
  JsonValue member = JsonValue::Object();
  SetVector(member, "shape", chunk.shape, IntegerNumber);
  SetVector(member, "aspect_ratio", chunk.aspect_ratio, DoubleNumber);
  if (chunk.elements.value) {
    member.Set(chunk.elements.hard() ? "elements" : "elements_soft_constraint",
               IntegerNumber(*chunk.elements.value));
  }
  object.Set(name, std::move(member));
}

}  // namespace

Status ChunkShapeConstraints::Merge(const ChunkShapeConstraints& other) {
  UNSHARD_RETURN_IF_ERROR(MergeConstraints(shape, other.shape));
  UNSHARD_RETURN_IF_ERROR(MergeConstraints(aspect_ratio, other.aspect_ratio));
  if (!Agree(elements, other.elements)) {
    return Fail(ErrorCode::kInvalidArgument, "conflicting hard constraints: ", *elements.value,
                " and ", *other.elements.value, " elements");
  }
  MergeConstraint(elements, other.elements);
  return {};
}

bool ChunkShapeConstraints::empty() const {
  return NoneSet(shape) && NoneSet(aspect_ratio) && !elements.value;
}

Status ChunkLayout::SetRank(std::size_t value) {
  if (rank && *rank != value) {
    return Fail(ErrorCode::kInvalidArgument, "rank ", value, " conflicts with rank ", *rank,
                " of the rest of the chunk layout");
  }
  rank = value;
  return {};
}

Status ChunkLayout::SetInnerOrder(std::vector<std::size_t> order, Strength strength) {
  UNSHARD_RETURN_IF_ERROR(SetRank(order.size()));
  const Constraint<std::vector<std::size_t>> value{std::move(order), strength};
  if (!Agree(inner_order, value)) {
    return Fail(ErrorCode::kInvalidArgument, "inner_order: conflicting hard constraints");
  }
  if (!value.value->empty()) MergeConstraint(inner_order, value);
  return {};
}

Status ChunkLayout::SetGridOrigin(const Constraints<std::int64_t>& origin) {
  UNSHARD_RETURN_IF_ERROR(SetRank(origin.size()));
  auto merged = MergeConstraints(grid_origin, origin);
  if (!merged) return Forward(std::move(merged).error(), "grid_origin");
  return {};
}

Status ChunkLayout::SetChunk(ChunkShapeConstraints& usage, const ChunkShapeConstraints& value) {
  if (!value.shape.empty()) UNSHARD_RETURN_IF_ERROR(SetRank(value.shape.size()));
  if (!value.aspect_ratio.empty()) UNSHARD_RETURN_IF_ERROR(SetRank(value.aspect_ratio.size()));
  return usage.Merge(value);
}

Status ChunkLayout::Merge(const ChunkLayout& other) {
  if (other.rank) UNSHARD_RETURN_IF_ERROR(SetRank(*other.rank));
  if (other.inner_order.value) {
    UNSHARD_RETURN_IF_ERROR(SetInnerOrder(*other.inner_order.value, other.inner_order.strength));
  }
  if (!other.grid_origin.empty()) UNSHARD_RETURN_IF_ERROR(SetGridOrigin(other.grid_origin));
  UNSHARD_RETURN_IF_ERROR(SetChunk(write_chunk, other.write_chunk));
  UNSHARD_RETURN_IF_ERROR(SetChunk(read_chunk, other.read_chunk));
  return SetChunk(codec_chunk, other.codec_chunk);
}

Constraints<std::int64_t> HardShape(const std::vector<std::int64_t>& shape) {
  Constraints<std::int64_t> constraints(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 0) constraints[i] = {shape[i], Strength::kHard};
  }
  return constraints;
}

Constraints<std::int64_t> HardOrigin(const std::vector<std::int64_t>& origin) {
  Constraints<std::int64_t> constraints;
  for (const std::int64_t value : origin) constraints.push_back({value, Strength::kHard});
  return constraints;
}

Result<ChunkLayout> ParseChunkLayout(const JsonCursor& json) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(
      json, {"rank", "inner_order", "inner_order_soft_constraint", "grid_origin",
             "grid_origin_soft_constraint", "chunk", "write_chunk", "read_chunk", "codec_chunk"}));
  ChunkLayout layout;
  if (const auto member = MemberOf(json, "rank")) {
    UNSHARD_ASSIGN_OR_RETURN(layout.rank, member->Unsigned(0, kMaxRank));
  }
  const auto take_order = [&layout](const JsonCursor& at, Strength strength) -> Status {
    if (at.value().is_null()) return {};
    UNSHARD_ASSIGN_OR_RETURN(auto order, ParseOrder(at));
    return At(at, layout.SetInnerOrder(std::move(order), strength));
  };
  const auto take_origin = [&layout](const JsonCursor& at, Strength strength) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const auto origin, ParseOrigin(at, strength));
    return At(at, layout.SetGridOrigin(origin));
  };
  UNSHARD_RETURN_IF_ERROR(HardThenSoft(json, "inner_order", take_order));
  UNSHARD_RETURN_IF_ERROR(HardThenSoft(json, "grid_origin", take_origin));
  auto* const write = &layout.write_chunk;
  auto* const read = &layout.read_chunk;
  auto* const codec = &layout.codec_chunk;
  const std::vector<std::pair<const char*, Usages>> members = {
      {"chunk", {{write, read}, {write, read, codec}}},
      {"write_chunk", {{write}, {write}}},
      {"read_chunk", {{read}, {read}}},
      {"codec_chunk", {{codec}, {codec}}}};
  for (const auto& [name, usages] : members) {
    const auto member = MemberOf(json, name);
    if (member) UNSHARD_RETURN_IF_ERROR(ReadChunk(layout, *member, usages));
  }
  return layout;
}

JsonValue ChunkLayoutJson(const ChunkLayout& layout) {
  JsonValue object = JsonValue::Object();
  SetVector(object, "grid_origin", layout.grid_origin, IntegerNumber);
  if (layout.inner_order.value) {
    const std::vector<std::size_t>& order = *layout.inner_order.value;
    object.Set(layout.inner_order.hard() ? "inner_order" : "inner_order_soft_constraint",
               IntegerArray({order.begin(), order.end()}));
  }
  SetChunk(object, "write_chunk", layout.write_chunk);
  SetChunk(object, "read_chunk", layout.read_chunk);
  SetChunk(object, "codec_chunk", layout.codec_chunk);
  return object;
}

}  // namespace unshard
