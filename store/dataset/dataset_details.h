// What metadata documents say of arrays beside what a mount needs, for `unshard info`: channels,
// sharding, resolution, units and offset.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/array/array.h"
#include "codec/json/json.h"
#include "codec/pyramid/ome_description.h"

namespace unshard {

// Of one array, scale or index. Empty, 0 or null is what the document does not say. Numbers are
// spelled as they are there.
struct DatasetDetails {
  std::uint64_t channels = 0;
  std::vector<std::string> resolution;    // extent of a voxel or element along each dimension
  std::vector<std::string> units;         // of `resolution` and `offset`
  std::vector<std::string> offset;        // of the first element, in units (OME-Zarr)
  std::vector<std::string> voxel_offset;  // of the first voxel, in voxels (precomputed)
  std::vector<std::string> dimensions;    // names
  JsonValue sharding;                     // null, or the parameters as an object
  unsigned ids_in_shard_bits = 0;         // precomputed: preshift_bits + minishard_bits
  std::optional<OmeDescription> ome;      // of a group
};

// By directory below the source.
using DetailsByPath = std::map<std::string, DatasetDetails>;

// Add what `document`, an `info` in the directory `path`, says of its scales and indexes. What has
// another form than the format's is left out. Pure, like all below.
void AddPrecomputedDetails(const std::string& path, const JsonValue& document, DetailsByPath& to);
// The same for the `zarr.json` of an array.
void AddZarrDetails(const std::string& path, const JsonValue& document, DetailsByPath& to);
// The same for the OME-Zarr metadata in the attributes of a group, of that group and of the arrays
// that they name.
void AddOmeDetails(const std::string& path, Dialect dialect, const JsonValue& attributes,
                   DetailsByPath& to);

// The sharding of precomputed data on one line: "identity, preshift 9 bits, …".
std::string DescribeSharding(const JsonValue& sharding);

}  // namespace unshard
