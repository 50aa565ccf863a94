// The multiscale conventions of N5 as pyramids, and back: n5-viewer, n5-universe, Paintera,
// TensorStore. codec/FORMATS.md, "Views".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"

namespace unshard {

// A single dataset, or a group with these attributes and its levels. The members of a dataset that
// no ArrayMetadata has are in its attributes.
Result<PyramidGeometry> GeometryOfN5(const JsonValue& attributes,
                                     const std::vector<PyramidLevel>& levels);

// The members of the group of a pyramid. `geometry` has the axes of the arrays, slowest first;
// N5 lists them fastest first. Fails with kNotSupported where a level is no whole number of times
// as coarse as the first one.
Result<JsonValue> N5GroupOf(const PyramidGeometry& geometry);
// The members of one level, beside axes, units and resolution,
// which are those of its ArrayMetadata.
Result<JsonValue> N5LevelOf(const PyramidGeometry& geometry, std::size_t level);

// Says in the attributes of the root of a container which version of N5 it has, unless they do: a
// reader takes any of the same major version, or a lower one.
void SetN5Version(JsonValue& attributes);

// Removes the members that say how a dataset is stored and where its voxels are. They are not
// carried into another format, and an attribute of that name of another format is none of N5's.
void EraseN5Members(JsonValue& attributes);

}  // namespace unshard
