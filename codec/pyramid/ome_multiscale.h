// OME-Zarr multiscales, versions 0.5 (Zarr v3) and 0.1 to 0.4 (Zarr v2), as pyramids, and back.
// codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"

namespace unshard {

// The OME-Zarr metadata in the attributes of a group: the member `ome` (Zarr v3), or the attributes
// themselves (Zarr v2); null where they have none.
JsonValue OmeOf(Dialect dialect, const JsonValue& attributes);

// The paths of the datasets of the first multiscale; none where there is none. Fails with kDataLoss
// where a dataset has no path.
Result<std::vector<std::string>> OmeLevelPaths(const JsonValue& ome);
// The names of its axes, for arrays of `rank`: versions 0.1 and 0.2 do not list them.
std::vector<std::string> OmeAxisNames(const JsonValue& ome, std::size_t rank);
// Adds to the first multiscale of `ome` what version 0.4 requires and older ones lack: the axes,
// and the scale of each level. Changes nothing where `levels` are not its datasets.
void CompleteMultiscales(const std::vector<PyramidLevel>& levels, JsonValue& ome);

// The geometry of the first multiscale; units of length become nanometres. Levels without
// transformations are as coarse as the shapes of their arrays say. Translations are taken
// as those of the corners of voxels, or else of their centres, whichever lets all levels begin at
// whole voxels. Fails with kNotSupported where neither does, and with kDataLoss on damaged
// metadata.
Result<PyramidGeometry> GeometryOfOme(const JsonValue& ome,
                                      const std::vector<PyramidLevel>& levels);

// The list `multiscales` of a pyramid, without a version: translations are those of the centres of
// voxels. `geometry` has the axes of the arrays.
JsonValue MultiscalesOf(const PyramidGeometry& geometry, const std::vector<std::string>& paths);

// The attributes of a group in the other version of Zarr: the members of OME-Zarr move into, or out
// of, the member `ome`, and get the version. Other attributes stay as they are.
JsonValue AttributesInZarr2(JsonValue zarr3_attributes);
JsonValue AttributesInZarr3(JsonValue zarr2_attributes);

}  // namespace unshard
