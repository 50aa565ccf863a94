// The axes of an OME-Zarr multiscale of any version, and the coordinate system that they belong to.
// codec/FORMATS.md, "OME-Zarr". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

struct OmeAxes {
  std::vector<JsonValue> axes;    // objects, as versions from 0.4 on have them
  std::string system;             // the name of their system; "" where the version has no systems
  std::vector<JsonValue> others;  // the other systems, as they are in the document
};

// Of arrays of `rank`; 0: not known. All levels name the same of several systems as their output:
// it has the axes. Fails with kDataLoss, naming the member, where there are not `rank` axes, and
// with kNotSupported where the levels name several systems, or none that is listed.
Result<OmeAxes> AxesOfOme(const JsonCursor& multiscale, std::size_t rank);

// An axis as versions from 0.4 on list it, and what such an object says; the type counts more than
// the name.
JsonValue OmeAxisJson(const PyramidAxis& axis);
PyramidAxis PyramidAxisOf(const JsonValue& axis);

}  // namespace unshard
