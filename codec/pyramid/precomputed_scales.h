// The scales of a precomputed volume as a pyramid, and back. codec/FORMATS.md, "Views". Pure;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"

namespace unshard {

// The geometry, with axes c, z, y, x in nanometres. `levels` are those of `info`, in its order.
// Fails with kDataLoss, naming the scale, unless it has three resolutions above 0.
Result<PyramidGeometry> GeometryOfScales(const JsonValue& info,
                                         const std::vector<PyramidLevel>& levels);

// The `key` of a scale, as TensorStore makes it of the resolutions along x, y and z: "8_8_40".
std::string ScaleKey(const LevelPosition& position);

// The `info` of a volume with these scales, whose keys are the paths of the levels. Positions have
// the axes of the arrays: channel, z, y, x.
Result<JsonValue> InfoOfLevels(const std::vector<PyramidLevel>& levels,
                               const std::vector<LevelPosition>& positions);

}  // namespace unshard
