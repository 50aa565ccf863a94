// OME-Zarr multiscales, versions 0.5 (Zarr v3) and 0.4 (Zarr v2), as pyramids, and back.
// codec/FORMATS.md, "Views".
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"

namespace unshard {

// What OME-Zarr says about a group with these attributes: the member `ome` (Zarr v3), or the
// attributes themselves (Zarr v2); null where they are not those of OME-Zarr.
JsonValue OmeOf(ArrayDialect dialect, const JsonValue& attributes);

// The paths of the datasets of the first multiscale; none where there is none.
Result<std::vector<std::string>> OmeLevelPaths(const JsonValue& ome);
// The names of its axes.
std::vector<std::string> OmeAxisNames(const JsonValue& ome);

// Units of length become nanometres. Where translations are those of centres, and where of corners,
// is found by which of them makes all levels begin at whole voxels: neither is kNotSupported.
Result<PyramidGeometry> GeometryOfOme(const JsonValue& ome,
                                      const std::vector<PyramidLevel>& levels);

// The list `multiscales` of a pyramid, without a version: translations are those of the centres of
// voxels. `geometry` has the axes of the arrays.
JsonValue MultiscalesOf(const PyramidGeometry& geometry, const std::vector<std::string>& paths);

// The attributes of a group of the other version of Zarr: what OME-Zarr says moves into, or out of,
// the member `ome`, with its versions. Other attributes stay as they are.
JsonValue AttributesInZarr2(JsonValue zarr3_attributes);
JsonValue AttributesInZarr3(JsonValue zarr2_attributes);

}  // namespace unshard
