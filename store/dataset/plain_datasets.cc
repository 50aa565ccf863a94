#include "store/dataset/plain_datasets.h"

#include <optional>
#include <string_view>

#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/n5/dataset.h"
#include "codec/zarr2/array.h"
#include "store/dataset/found_dataset.h"

namespace unshard {

Status AddOtherInfo(const std::string& path, const std::string& text, Contribution& to) {
  const auto document = ParseJson(text);
  if (!document->is_object()) {
    if (!path.empty()) return {};
    return JsonCursor(*document, "").Expected("an object");
  }
  const std::string type = TextOf(*document, "@type");
  constexpr std::string_view kPrefix = "neuroglancer_";
  if (!type.starts_with(kPrefix)) return {};
  FoundDataset other;
  other.path = path;
  other.format = "precomputed " + type.substr(kPrefix.size());
  to.found.push_back(other);
  return {};
}

void AddPlainDataset(const std::string& path, DirectoryDocuments& documents, Contribution& to) {
  const auto read = [&](const char* name) -> std::optional<JsonValue> {
    const auto& object = documents.Read(name);
    if (!object || !*object) return std::nullopt;
    // These formats pass through: a document that cannot be read here is passed to its reader.
    return ParseJson((*object)->text).value_or(JsonValue());
  };
  FoundDataset found;
  found.path = path;
  const auto describe = [](const Result<Array>& array) {
    return array ? Describe(*array) : ArrayDescription();
  };
  if (const auto array = read(".zarray")) {
    found = FoundArray(path, "zarr v2 array", describe(ParseZarr2Array(*array, JsonValue())));
    to.overlays[path].opaque = true;
  } else if (read(".zgroup")) {
    found.format = "zarr v2 group";
  } else if (const auto attributes = read("attributes.json")) {
    found.format = "n5 group";
    if (attributes->Find("dimensions") && attributes->Find("blockSize")) {
      found = FoundArray(path, "n5 dataset", describe(ParseN5Dataset(*attributes)));
      to.overlays[path].opaque = true;
    }
  } else {
    return;
  }
  to.found.push_back(found);
}

}  // namespace unshard
