// The first multiscale of an OME-Zarr group as a pyramid, and back. codec/FORMATS.md, "OME-Zarr".
// Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/ome_multiscale.h"
#include "codec/pyramid/ome_version.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

// The paths of the levels, the finest first; none where there is no multiscale. Fails with
// kDataLoss where a dataset has no path.
Result<std::vector<std::string>> OmeLevelPaths(const JsonValue& ome);
// ReadOmeMultiscale of the first one, with these levels. Fails as that does, and with kNotSupported
// where there is no multiscale.
Result<OmeMultiscale> ReadOmeImage(const JsonValue& ome, const std::vector<PyramidLevel>& levels);
// Its axes alone.
Result<std::vector<PyramidAxis>> OmeAxesOf(const JsonValue& ome, std::size_t rank);

// Where the voxels are; units of length become nanometres. What is applied to all levels in
// versions 0.4 and 0.5 is; the way to another coordinate system in 0.6 is not. Translations are
// taken as those of the corners of voxels, or else of their centres, whichever lets all levels
// begin at whole voxels. Fails as ReadOmeImage does, and with kNotSupported where neither does.
Result<PyramidGeometry> GeometryOfOme(const JsonValue& ome,
                                      const std::vector<PyramidLevel>& levels);

// The list `multiscales` of a pyramid, without a version: translations are those of the centres of
// voxels. `geometry` has the axes of the arrays. Requires: a version that is written.
JsonValue MultiscalesOf(const PyramidGeometry& geometry, const std::vector<std::string>& paths,
                        const OmeVersion& version);

}  // namespace unshard
