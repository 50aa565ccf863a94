#include "codec/schema/chunk_layout.h"

#include <cmath>
#include <utility>

#include "codec/chain/transpose.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

struct ChunkMember {
  const char* name;
  ChunkShapeConstraints ChunkLayout::*chunk;
};
constexpr ChunkMember kChunks[] = {{"write_chunk", &ChunkLayout::write_chunk},
                                   {"read_chunk", &ChunkLayout::read_chunk},
                                   {"codec_chunk", &ChunkLayout::codec_chunk}};

// --- Parsing. What is read is merged: a hard constraint comes before a soft one of its name.

using Rank = std::optional<std::size_t>;

// `read`: the value of an item; nothing where that means no constraint, as null does.
template <class T, class Read>
Result<Constraints<T>> ParseEach(const JsonCursor& json, Rank& rank, Strength strength,
                                 const Read& read) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json, rank));
  Constraints<T> each(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].value().is_null()) continue;
    UNSHARD_ASSIGN_OR_RETURN(const std::optional<T> value, read(items[i]));
    if (value) each[i] = {value, strength};
  }
  return each;
}

Result<Constraints<std::int64_t>> ParseShape(const JsonCursor& json, Rank& rank,
                                             Strength strength) {
  const auto read = [](const JsonCursor& item) -> Result<std::optional<std::int64_t>> {
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t extent, item.Integer(-1, kMaxIndex));
    return extent == 0 ? std::nullopt : std::optional(extent);
  };
  UNSHARD_ASSIGN_OR_RETURN(auto shape, ParseEach<std::int64_t>(json, rank, strength, read));
  for (auto& one : shape) {
    if (one.value == -1) one.strength = Strength::kSoft;
  }
  return shape;
}

Result<Constraints<double>> ParseAspectRatio(const JsonCursor& json, Rank& rank,
                                             Strength strength) {
  const auto read = [](const JsonCursor& item) -> Result<std::optional<double>> {
    UNSHARD_ASSIGN_OR_RETURN(const double ratio, NumberAt(item));
    if (!std::isfinite(ratio) || ratio < 0) return item.Expected("a finite number of 0 or more");
    return ratio == 0 ? std::nullopt : std::optional(ratio);
  };
  return ParseEach<double>(json, rank, strength, read);
}

Result<Constraint<std::int64_t>> ParseElements(const JsonCursor& json, Rank& /*rank*/,
                                               Strength strength) {
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t elements, json.Integer(0, kMaxIndex));
  return Constraint<std::int64_t>{elements, strength};
}

Result<Constraints<std::int64_t>> ParseOrigin(const JsonCursor& json, Rank& rank,
                                              Strength strength) {
  const auto read = [](const JsonCursor& item) -> Result<std::optional<std::int64_t>> {
    return item.Integer(-kMaxIndex, kMaxIndex);
  };
  return ParseEach<std::int64_t>(json, rank, strength, read);
}

Result<Constraint<std::vector<std::size_t>>> ParseInnerOrder(const JsonCursor& json, Rank& rank,
                                                             Strength strength) {
  Constraint<std::vector<std::size_t>> order;
  if (json.value().is_null()) return order;
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json, rank));
  if (items.empty()) return order;
  UNSHARD_ASSIGN_OR_RETURN(order.value, ParseOrder(json, items.size()));
  order.strength = strength;
  return order;
}

// Adds the readers of the hard and of the soft constraint `name`.
template <class C>
void AddReaders(std::vector<MemberReader>& readers, const std::string& name, Rank& rank, C& into,
                Result<C> (*parse)(const JsonCursor&, Rank&, Strength)) {
  for (const Strength strength : {Strength::kHard, Strength::kSoft}) {
    const auto read = [name, &rank, &into, parse, strength](const JsonCursor& at) -> Status {
      UNSHARD_ASSIGN_OR_RETURN(const C value, parse(at, rank, strength));
      return MergeConstraint(name, into, value);
    };
    readers.push_back({ConstraintName(name, strength), read});
  }
}

Result<ChunkShapeConstraints> ParseChunk(const JsonCursor& json, Rank& rank) {
  ChunkShapeConstraints chunk;
  std::vector<MemberReader> readers;
  AddReaders(readers, "shape", rank, chunk.shape, &ParseShape);
  AddReaders(readers, "aspect_ratio", rank, chunk.aspect_ratio, &ParseAspectRatio);
  AddReaders(readers, "elements", rank, chunk.elements, &ParseElements);
  UNSHARD_RETURN_IF_ERROR(json.ReadMembers(readers));
  return chunk;
}

}  // namespace

Status ChunkShapeConstraints::Merge(const std::string& path, const ChunkShapeConstraints& other) {
  UNSHARD_RETURN_IF_ERROR(MergeConstraint(path + ".shape", shape, other.shape));
  UNSHARD_RETURN_IF_ERROR(
      MergeConstraint(path + ".aspect_ratio", aspect_ratio, other.aspect_ratio));
  return MergeConstraint(path + ".elements", elements, other.elements);
}

Status ChunkLayout::Merge(const ChunkLayout& other) {
  const std::string path = "chunk_layout";
  if (rank && other.rank && *rank != *other.rank) {
    return Fail(ErrorCode::kInvalidArgument, path, ": conflicting ranks: ", *rank, " and ",
                *other.rank);
  }
  if (other.rank) rank = other.rank;
  UNSHARD_RETURN_IF_ERROR(MergeConstraint(path + ".inner_order", inner_order, other.inner_order));
  UNSHARD_RETURN_IF_ERROR(MergeConstraint(path + ".grid_origin", grid_origin, other.grid_origin));
  for (const auto& [name, chunk] : kChunks) {
    UNSHARD_RETURN_IF_ERROR((this->*chunk).Merge(MemberPath(path, name), other.*chunk));
  }
  return {};
}

Constraints<std::int64_t> HardShape(const std::vector<std::int64_t>& shape) {
  Constraints<std::int64_t> constraints = HardValues(shape);
  for (auto& one : constraints) {
    if (one.value == 0) one = {};
  }
  return constraints;
}

Result<ChunkLayout> ParseChunkLayout(const JsonCursor& json) {
  ChunkLayout merged;  // begins with `chunk`
  ChunkLayout layout;
  Rank& rank = layout.rank;
  std::vector<MemberReader> readers = {
      {"rank", [&](const JsonCursor& at) { return Assign(rank, at.Unsigned(0, kMaxRank)); }}};
  AddReaders(readers, "inner_order", rank, layout.inner_order, &ParseInnerOrder);
  AddReaders(readers, "grid_origin", rank, layout.grid_origin, &ParseOrigin);
  readers.push_back({"chunk", [&](const JsonCursor& at) -> Status {
                       UNSHARD_ASSIGN_OR_RETURN(merged.read_chunk, ParseChunk(at, rank));
                       merged.write_chunk = merged.read_chunk;
                       merged.codec_chunk.aspect_ratio = merged.read_chunk.aspect_ratio;
                       return {};
                     }});
  for (const auto& [name, chunk] : kChunks) {
    readers.push_back({name, [&layout, &rank, chunk = chunk](const JsonCursor& at) {
                         return Assign(layout.*chunk, ParseChunk(at, rank));
                       }});
  }
  UNSHARD_RETURN_IF_ERROR(json.ReadMembers(readers));
  UNSHARD_RETURN_IF_ERROR(merged.Merge(layout));
  return merged;
}

JsonValue ChunkLayoutJson(const ChunkLayout& layout) {
  JsonValue object = JsonValue::Object();
  SetConstraint(object, "grid_origin", layout.grid_origin);
  SetConstraint(object, "inner_order", layout.inner_order);
  for (const auto& [name, chunk] : kChunks) {
    JsonValue member = JsonValue::Object();
    SetConstraint(member, "shape", (layout.*chunk).shape);
    SetConstraint(member, "aspect_ratio", (layout.*chunk).aspect_ratio);
    SetConstraint(member, "elements", (layout.*chunk).elements);
    if (!member.members().empty()) object.Set(name, std::move(member));
  }
  return object;
}

}  // namespace unshard
