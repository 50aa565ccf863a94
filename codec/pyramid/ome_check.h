// Whether OME-Zarr metadata of version 0.6 are as its specification wants them: its conformance set
// judges the same. Readers accept more. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

// `ome`: as OmeOf returns it. Fails with kDataLoss, naming the first member that is not as it has
// to be and what was expected: images, labels, plates, wells, scenes, and their lists.
Status CheckOme06(const JsonValue& ome);
// The same for one coordinate transformation, without its input and output.
Status CheckOmeTransformation(const JsonValue& transformation);

}  // namespace unshard
