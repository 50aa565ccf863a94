// The versions of OME-Zarr in one table: where each has its metadata, and what a multiscale looks
// like in it. codec/FORMATS.md, "OME-Zarr". Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codec/array/array.h"
#include "codec/json/json.h"

namespace unshard {

// What a multiscale says of its axes and of where its levels are.
enum class OmeShape {
  kNoAxes,     // nothing: the axes are t, c, z, y, x
  kAxisNames,  // `axes`: names
  kAxes,       // `axes`: objects; each level a list of a scale and perhaps a translation
  kSystems,    // `coordinateSystems`; each level one transformation into one of these
};

struct OmeVersion {
  std::string_view name;
  // Of its arrays. Zarr v3: all is in the attribute `ome`, which has the version. Zarr v2: all are
  // attributes of the group; multiscales, labels, plates and wells have the version.
  Dialect dialect;
  OmeShape shape;
  bool is_written;  // whether views and copies can have it
};

// The oldest first.
std::span<const OmeVersion> OmeVersions();
// Null where no version of this name is written.
const OmeVersion* FindOmeVersion(std::string_view name);
// The names of those that are written, for messages: "0.4, …".
std::string OmeVersionNames();
// What a format has where nothing else is asked for. Requires: Zarr.
const OmeVersion& DefaultOmeVersion(Dialect dialect);

// The metadata in the attributes of a group: the member `ome` (Zarr v3), or the attributes
// themselves (Zarr v2); null where there are none.
JsonValue OmeOf(Dialect dialect, const JsonValue& attributes);
// The version that they state; "" where they state none.
std::string OmeVersionOf(const JsonValue& ome);
// Judged by its members, whatever version is stated.
OmeShape OmeShapeOf(const JsonValue& multiscale);

// Takes the metadata, without any version, out of the attributes of a group. Null where there are
// none. Those of N5 are what a copy of Zarr v3 has left there: its levels are N5's own.
JsonValue TakeOme(Dialect dialect, JsonValue& attributes);
// Puts them back, where `version` has them, with the version.
void PutOme(const OmeVersion& version, JsonValue ome, JsonValue& attributes);

}  // namespace unshard
