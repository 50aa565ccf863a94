// The scales of a precomputed volume as a pyramid, and back. codec/FORMATS.md, "Views".
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"

namespace unshard {

// Axes c, z, y, x, in nanometres. `levels` are those of `info`, in its order.
Result<PyramidGeometry> GeometryOfScales(const JsonValue& info,
                                         const std::vector<PyramidLevel>& levels);

// The `key` of a scale, as TensorStore forms it of x, y, z: "8_8_40".
std::string ScaleKey(const LevelPosition& position);

// The scales of an info, in which each array, with its `origin`, is at the `path` of its level.
// Positions have the axes of the arrays: channel, z, y, x.
Result<JsonValue> InfoOfLevels(const std::vector<PyramidLevel>& levels,
                               const std::vector<LevelPosition>& positions);

}  // namespace unshard
