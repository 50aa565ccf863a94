// What the OME-Zarr metadata of a group say, in words, for `unshard info`. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/json/json.h"

namespace unshard {

struct OmeDescription {
  std::string version;               // as it is stated; "": it is not
  std::vector<std::string> kinds;    // "image", "plate"
  std::string system;                // the coordinate system of the levels; "": it has no name
  std::vector<std::string> axes;     // of the levels
  std::vector<std::string> ignored;  // what views do not use: "the coordinate system world"
  std::string fault;                 // why views cannot place the levels; "": they can
  std::string invalid;               // what is not as version 0.6 wants it; "": nothing
};

// `ome`: as OmeOf returns it, not null.
OmeDescription DescribeOme(const JsonValue& ome);

// "OME-Zarr 0.6: image; axes z, y, x in the coordinate system physical".
std::string TextOf(const OmeDescription& ome);

}  // namespace unshard
