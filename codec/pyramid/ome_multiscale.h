// One multiscale of OME-Zarr as a model that is the same for all versions: read by its shape,
// written in the shape of a version. codec/FORMATS.md, "OME-Zarr". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/ome_transform.h"
#include "codec/pyramid/ome_version.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

// The system of coordinates that the levels of an image get where the source names none.
inline constexpr const char* kOmeSystem = "physical";

struct OmeMultiscale {
  struct Level {
    std::string path;
    std::size_t dataset = 0;  // its place in `datasets`
    OmeTransform transform;   // of indices of the array to the axes
  };
  std::string name;             // ""
  std::vector<JsonValue> axes;  // slowest first; objects, as versions from 0.4 on have them
  std::vector<Level> levels;    // the finest first
  std::string system;           // that of the axes; "" where the version names none
  std::vector<JsonValue> other_systems;  // the objects of the document
  JsonValue between_systems;             // the transformations of the multiscale, or null
  // Of versions 0.4 and 0.5: what is applied to every level, after its own transformation.
  std::optional<OmeTransform> of_all;
  std::vector<std::string> warnings;  // what is not as the version has it
};

// Reads a multiscale. `shapes`: of the arrays of its levels, in the order of OmeLevelOrder; empty:
// not known. They say how coarse levels without transformations are, and along which axes a scale
// of 0 means nothing. Fails with kDataLoss on damaged metadata and with kNotSupported where
// something else than a scale and a translation leads to a level, naming the member.
Result<OmeMultiscale> ReadOmeMultiscale(const JsonCursor& multiscale,
                                        const std::vector<std::vector<std::uint64_t>>& shapes);

// The places in `datasets` of the levels, the finest first; in the order of the document where that
// does not say how fine they are.
std::vector<std::size_t> OmeLevelOrder(const JsonCursor& multiscale);

// Gives `multiscale`, of which `model` was read, the form of the version; members that say nothing
// of axes and transformations stay. Appends what the version cannot express, and is left out, to
// `warnings`. `path`: of the multiscale, for these. Requires: a version that is written.
void WriteOmeMultiscale(const OmeMultiscale& model, const OmeVersion& version,
                        const std::string& path, JsonValue& multiscale,
                        std::vector<std::string>& warnings);

}  // namespace unshard
