// The multiscale conventions of N5 as pyramids, and back: n5-viewer, n5-universe, Paintera,
// TensorStore. codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"

namespace unshard {

// The geometry of a single dataset, or of a group with these attributes and its levels. Fails with
// kDataLoss, naming the member, on damaged metadata.
Result<PyramidGeometry> GeometryOfN5(const JsonValue& attributes,
                                     const std::vector<PyramidLevel>& levels);

// The members of the group of a pyramid. `geometry` has the axes of the arrays, slowest first;
// N5 lists them fastest first. Fails with kNotSupported where a level is no whole number of times
// as coarse as the first one.
Result<JsonValue> N5GroupOf(const PyramidGeometry& geometry);
// The members of one level beside those of its Array (axes, units, resolution). Fails as
// N5GroupOf does.
Result<JsonValue> N5LevelOf(const PyramidGeometry& geometry, std::size_t level);

// Adds the version of N5 to the attributes of the root of a container, unless they have one.
// Readers accept their own major version and lower ones.
void SetN5Version(JsonValue& attributes);

// Removes the members by which N5 describes how a dataset is stored and where its voxels are: they
// are not carried into another format, and attributes of another format must not be taken for them.
void EraseN5Members(JsonValue& attributes);

}  // namespace unshard
