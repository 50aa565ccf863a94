// The names that a metadata document mentions: what a store that cannot list is known to hold. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json/json.h"
#include "store/source/catalog_store.h"

namespace unshard {

// https://ngff.openmicroscopy.org: where the labels of an image are, mentioned or not.
inline constexpr const char* kLabelsDirectory = "labels";

struct MentionedNames {
  // Relative to the directory of the document, as it spells them; may begin with "../".
  std::vector<std::string> directories;
  std::vector<std::string> documents;  // "0/zarr.json"
  // The document is that of an array: the directories between it and its chunk files.
  std::optional<CatalogStore::ChunkDirectories> chunks;
};

// `name` is that of the document: info, zarr.json, .zarray, .zattrs, .zmetadata, attributes.json.
// Knows consolidated metadata; multiscales, labels, plates, wells and scenes of OME-Zarr; scales of
// N5 viewers; scales, meshes, skeletons, properties and annotations of precomputed. What is no
// string where one belongs is left out.
MentionedNames NamesMentionedIn(std::string_view name, const JsonValue& document);

}  // namespace unshard
