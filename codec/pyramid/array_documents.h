// The metadata documents of arrays, read and written by the functions of their format, and of
// groups. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/array/array.h"
#include "codec/json/json.h"

namespace unshard {

// The scales of a precomputed volume. This and ReadArray fail, naming the JSON path, with kDataLoss
// on damaged metadata and with kNotSupported where chunks cannot be decoded.
Result<std::vector<Array>> ReadScales(const JsonValue& info);
// ParseScales does not fail where only Array::voxels does.
Result<std::vector<Array>> ParseScales(const JsonValue& info);
// The array of a zarr.json, .zarray or attributes.json; `attributes`: the .zattrs beside a .zarray,
// else null. Requires: another dialect than precomputed.
// ParseArray does not fail where only Array::voxels does.
Result<Array> ParseArray(Dialect dialect, const JsonValue& document, const JsonValue& attributes);
Result<Array> ReadArray(Dialect dialect, const JsonValue& document, const JsonValue& attributes);

// One document of a dataset.
struct MetadataDocument {
  std::string directory;  // below that of the dataset; "": that one
  std::string name;
  JsonValue content;

  // Below the directory of the dataset: "0/zarr.json".
  [[nodiscard]] std::string path() const {
    return directory.empty() ? name : directory + "/" + name;
  }
};

// The inverse of ReadArray: the document of the array, and after a .zarray, where there are
// attributes, a .zattrs. Fails with kNotSupported where the format cannot express the array.
Result<std::vector<MetadataDocument>> DocumentsOf(const Array& array,
                                                  const std::string& directory = "");
// Those of a group with these attributes, an object. None in the format of precomputed volumes,
// where only volumes have a document.
std::vector<MetadataDocument> DocumentsOfGroup(Dialect dialect, JsonValue attributes,
                                               const std::string& directory = "");

}  // namespace unshard
