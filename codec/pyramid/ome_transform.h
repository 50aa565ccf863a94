// Coordinate transformations of OME-Zarr, as far as they are a scale and a translation.
// codec/FORMATS.md, "OME-Zarr". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// Leads from x to scale · x + translation, with one number for each axis.
struct OmeTransform {
  std::vector<double> scale;
  std::vector<double> translation;
  bool states_translation = false;  // even if that is 0

  [[nodiscard]] std::size_t rank() const { return scale.size(); }
};

OmeTransform IdentityTransform(std::size_t rank);

// Applies one transformation, or a list of them, after what is in `to`: identity, scale,
// translation, sequences of these, and affine matrices and rotations that are diagonal. Fails with
// kNotSupported, naming the JSON path, where it is another one, or has not one number for each axis
// of `to`.
Status ApplyTransformation(const JsonCursor& one, OmeTransform& to);
Status ApplyTransformations(const JsonCursor& list, OmeTransform& to);

// As versions 0.4 and 0.5 have it: a list of the scale and, if it is stated, the translation.
JsonValue TransformationList(const OmeTransform& transform);
// As version 0.6 has it: a scale, or a sequence of both; without input and output.
JsonValue TransformationObject(const OmeTransform& transform);

}  // namespace unshard
