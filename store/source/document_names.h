// The names of metadata documents. Pure.
#pragma once

#include <array>
#include <string_view>

#include "codec/core/text.h"

namespace unshard {

inline constexpr std::string_view kZarrDocument = "zarr.json";
inline constexpr std::string_view kInfoDocument = "info";
// Documents that may describe shards.
inline constexpr std::array<std::string_view, 2> kShardDocuments = {kInfoDocument, kZarrDocument};
inline bool IsDocumentName(std::string_view name) { return IsOneOf(kShardDocuments, name); }

// Documents of all formats that say something of the directory that they are in.
inline constexpr std::array<std::string_view, 6> kMetadataNames = {
    kInfoDocument, kZarrDocument, ".zarray", ".zgroup", ".zattrs", "attributes.json"};
inline bool IsMetadataName(std::string_view name) { return IsOneOf(kMetadataNames, name); }

// These, and what zarr-python 2 makes of all of them.
inline constexpr std::string_view kConsolidatedDocument = ".zmetadata";
inline bool IsMetadataOfAnyFormat(std::string_view name) {
  return IsMetadataName(name) || name == kConsolidatedDocument;
}

}  // namespace unshard
