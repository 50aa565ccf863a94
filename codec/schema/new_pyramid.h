// The documents of a new pyramid in Zarr or N5. Pure; thread-safe.
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

// Zarr: OME-Zarr (0.5 in v3, 0.4 in v2) with the levels 0, 1, …; N5: the conventions of n5-viewer,
// n5-universe and Paintera with the levels s0, s1, …. The members are those of views
// (codec/pyramid). Requires: another format than precomputed. Fails as N5GroupOf does.
Result<std::vector<DatasetDocument>> PyramidDocuments(ArrayDialect format, NewPyramid pyramid);

}  // namespace unshard
