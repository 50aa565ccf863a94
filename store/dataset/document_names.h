// The names of metadata documents. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "codec/core/text.h"

namespace unshard {

inline constexpr std::string_view kZarrDocument = "zarr.json";
inline constexpr std::string_view kInfoDocument = "info";
// Whether a name is that of a document that may describe shards.
inline bool IsDocumentName(std::string_view name) {
  return name == kZarrDocument || name == kInfoDocument;
}

// Documents of all formats that say something of the directory that they are in.
inline constexpr std::array<std::string_view, 6> kMetadataNames = {
    kInfoDocument, kZarrDocument, ".zarray", ".zgroup", ".zattrs", "attributes.json"};
// So many of them, the first ones, may describe shards.
inline constexpr std::size_t kNamesOfShards = 2;
inline bool IsMetadataName(std::string_view name) { return IsOneOf(kMetadataNames, name); }

// These, and what zarr-python 2 makes of all of them.
inline constexpr std::string_view kConsolidatedDocument = ".zmetadata";
inline bool IsMetadataOfAnyFormat(std::string_view name) {
  return IsMetadataName(name) || name == kConsolidatedDocument;
}

}  // namespace unshard
