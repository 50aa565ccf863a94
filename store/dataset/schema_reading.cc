#include "store/dataset/schema_reading.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "codec/json/parser.h"
#include "codec/schema/array_schema.h"
#include "store/dataset/directory_documents.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// Nothing where it is missing.
Result<std::optional<JsonValue>> ReadDocument(ObjectStore& store, const std::string& key,
                                              const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto object, ReadWhole(store, key, kMaxDocumentBytes, deadline));
  if (!object) return std::nullopt;
  auto document = ParseJson(object->text);
  if (!document) return Forward(std::move(document).error(), store.Describe(key));
  return *std::move(document);
}

struct ArrayDocument {
  const char* name;
  bool (*is_array)(const JsonValue& document);
  Result<JsonValue> (*schema)(const JsonValue& document);
};

bool IsZarr3Array(const JsonValue& document) { return TextOf(document, "node_type") == "array"; }
bool IsAnyObject(const JsonValue& document) { return document.is_object(); }
bool IsN5Dataset(const JsonValue& document) { return document.Find("dimensions") != nullptr; }

constexpr std::array<ArrayDocument, 3> kArrayDocuments = {{
    {"zarr.json", IsZarr3Array, SchemaOfZarr3Array},
    {".zarray", IsAnyObject, SchemaOfZarr2Array},
    {"attributes.json", IsN5Dataset, SchemaOfN5Dataset},
}};

// The scale `key` of the volume in `directory`; of any key where that is empty.
Result<std::optional<JsonValue>> ReadScale(ObjectStore& store, const std::string& directory,
                                           std::string_view key, const Deadline& deadline) {
  const std::string path = JoinPath(directory, "info");
  UNSHARD_ASSIGN_OR_RETURN(const auto info, ReadDocument(store, path, deadline));
  if (!info) return std::nullopt;
  const auto& scales = ItemsOf(*info, "scales");
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!key.empty() && TextOf(scales[i], "key") != key) continue;
    auto schema = SchemaOfScale(*info, i);
    if (!schema) return Forward(std::move(schema).error(), store.Describe(path));
    return *std::move(schema);
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<JsonValue>> ReadSchema(ObjectStore& store, const std::string& array,
                                            const Deadline& deadline) {
  for (const ArrayDocument& one : kArrayDocuments) {
    const std::string path = JoinPath(array, one.name);
    UNSHARD_ASSIGN_OR_RETURN(const auto document, ReadDocument(store, path, deadline));
    if (!document || !one.is_array(*document)) continue;
    auto schema = one.schema(*document);
    if (!schema) return Forward(std::move(schema).error(), store.Describe(path));
    return *std::move(schema);
  }
  // A key of a scale may have several parts.
  for (std::size_t end = array.size();; end = array.rfind('/', end - 1)) {
    const bool whole = end == std::string::npos;
    const std::string directory = whole ? "" : array.substr(0, end);
    const std::string_view key =
        whole ? std::string_view(array)
              : std::string_view(array).substr(std::min(end + 1, array.size()));
    UNSHARD_ASSIGN_OR_RETURN(auto schema, ReadScale(store, directory, key, deadline));
    if (schema || directory.empty()) return schema;
  }
}

}  // namespace unshard
