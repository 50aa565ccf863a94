// The documents that make arrays the resolutions of one volume. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/dimension_units.h"

namespace unshard {

struct DatasetDocument {
  std::string path;  // below the dataset: "0/zarr.json"
  JsonValue document;
};

// Levels as they were created, finest first. Lists are in the order of the schema.
struct NewPyramid {
  std::vector<JsonValue> levels;                   // a zarr.json, .zarray or attributes.json each
  std::vector<std::string> labels;                 // of the dimensions
  DimensionUnits units;                            // of the first level; empty: none
  std::vector<std::vector<std::int64_t>> factors;  // of each level, relative to the first one
};

// OME-Zarr 0.5 in Zarr v3 and 0.4 in Zarr v2, with levels 0, 1, …; the conventions of n5-viewer,
// n5-universe and Paintera in N5, with levels s0, s1, …: the members that views have, too
// (codec/pyramid). Requires: another format than precomputed. Fails as N5GroupOf does.
Result<std::vector<DatasetDocument>> PyramidDocuments(ArrayDialect format, NewPyramid pyramid);

}  // namespace unshard
