#include "codec/pyramid/ome_transform.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "codec/json/number.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {
namespace {

// The diagonal and the last column of a matrix with `rank` rows; a rotation has no such column.
// Nothing where another number is not 0.
std::optional<OmeTransform> DiagonalOf(const JsonValue& matrix, std::size_t rank, bool is_affine) {
  if (matrix.items().size() != rank) return std::nullopt;
  OmeTransform diagonal = IdentityTransform(rank);
  diagonal.states_translation = is_affine;
  for (std::size_t row = 0; row < rank; ++row) {
    const auto numbers = NumbersOf(&matrix.items()[row], rank + (is_affine ? 1 : 0));
    if (!numbers) return std::nullopt;
    for (std::size_t column = 0; column < rank; ++column) {
      if (column != row && (*numbers)[column] != 0) return std::nullopt;
    }
    diagonal.scale[row] = (*numbers)[row];
    if (is_affine) diagonal.translation[row] = numbers->back();
  }
  return diagonal;
}

// Nothing for a type that is never a scale and a translation, and for numbers of another form.
std::optional<OmeTransform> TransformOf(const JsonValue& one, const std::string& type,
                                        std::size_t rank) {
  OmeTransform made = IdentityTransform(rank);
  const JsonValue* const value = one.Find(type);
  if (type == "scale" || type == "translation") {
    auto numbers = NumbersOf(value, rank);
    if (!numbers) return std::nullopt;
    made.states_translation = type == "translation";
    (made.states_translation ? made.translation : made.scale) = *std::move(numbers);
    return made;
  }
  const bool is_affine = type == "affine";
  if (!is_affine && type != "rotation") return std::nullopt;
  return value != nullptr ? DiagonalOf(*value, rank, is_affine) : std::nullopt;
}

JsonValue Transformation(const char* type, std::span<const double> numbers) {
  return JsonValue::Object({{"type", JsonValue::String(type)}, {type, NumberList(numbers)}});
}

}  // namespace

OmeTransform IdentityTransform(std::size_t rank) {
  return {std::vector<double>(rank, 1), std::vector<double>(rank, 0), false};
}

Status ApplyTransformation(const JsonCursor& one, OmeTransform& to) {
  const std::string type = TextOf(one.value(), "type");
  if (type == "identity") return {};
  if (type == "sequence") {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor inner, one.Member("transformations"));
    return ApplyTransformations(inner, to);
  }
  const auto made = TransformOf(one.value(), type, to.rank());
  if (!made) {
    return Fail(ErrorCode::kNotSupported, one.path(), type.empty() ? "" : ": the transformation ",
                type, ": expected scales and translations with ", to.rank(), " numbers");
  }
  for (std::size_t axis = 0; axis < to.rank(); ++axis) {
    to.scale[axis] *= made->scale[axis];
    to.translation[axis] = to.translation[axis] * made->scale[axis] + made->translation[axis];
  }
  to.states_translation |= made->states_translation;
  return {};
}

Status ApplyTransformations(const JsonCursor& list, OmeTransform& to) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, list.Items());
  for (const JsonCursor& one : items) {
    UNSHARD_RETURN_IF_ERROR(ApplyTransformation(one, to));
  }
  return {};
}

JsonValue TransformationList(const OmeTransform& transform) {
  JsonValue list = JsonValue::Array({Transformation("scale", transform.scale)});
  if (transform.states_translation) {
    list.mutable_items().push_back(Transformation("translation", transform.translation));
  }
  return list;
}

JsonValue TransformationObject(const OmeTransform& transform) {
  if (!transform.states_translation) return Transformation("scale", transform.scale);
  return JsonValue::Object({{"type", JsonValue::String("sequence")},
                            {"transformations", TransformationList(transform)}});
}

}  // namespace unshard
