// The metadata of an OME-Zarr group in another version. codec/FORMATS.md, "OME-Zarr". Pure;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/pyramid/ome_version.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

// Whether the metadata in the attributes of a group are, as far as they say, of another version.
// False where there are none.
bool HasOtherOmeVersion(Dialect dialect, const JsonValue& attributes, const OmeVersion& version);

// Moves the metadata of a group to where `version` has them, and gives them its form: multiscales
// that have it already stay as they are. `levels`: of the first multiscale; none: not known. What
// the version cannot express, and is left out, is appended to `warnings`. Other attributes stay.
// Fails as ReadOmeMultiscale does.
Status ConvertOme(Dialect from, const OmeVersion& version, const std::vector<PyramidLevel>& levels,
                  JsonValue& attributes, std::vector<std::string>& warnings);

}  // namespace unshard
