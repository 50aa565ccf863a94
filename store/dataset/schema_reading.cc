#include "store/dataset/schema_reading.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/json/parser.h"
#include "codec/precomputed/info.h"
#include "codec/pyramid/array_documents.h"
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

// The scale `key` of the volume in `directory`; of any key where that is empty.
Result<std::optional<JsonValue>> ReadScale(ObjectStore& store, const std::string& directory,
                                           std::string_view key, const Deadline& deadline) {
  const std::string path = JoinPath(directory, "info");
  UNSHARD_ASSIGN_OR_RETURN(const auto info, ReadDocument(store, path, deadline));
  if (!info) return std::nullopt;
  const auto& scales = ItemsOf(*info, "scales");
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!key.empty() && TextOf(scales[i], "key") != key) continue;
    const auto parsed = ParseNeuroglancerInfo(*info);
    if (!parsed) return Forward(parsed.error(), store.Describe(path));
    if (parsed->scales.empty()) return std::nullopt;  // another kind of info
    auto schema = SchemaOf(parsed->scales[i].array);
    if (!schema) return Forward(std::move(schema).error(), store.Describe(path));
    return *std::move(schema);
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<JsonValue>> ReadSchema(ObjectStore& store, const std::string& array,
                                            const Deadline& deadline) {
  for (const auto dialect : {Dialect::kZarr3, Dialect::kZarr2, Dialect::kN5}) {
    const std::string path = JoinPath(array, ArrayDocumentName(dialect));
    UNSHARD_ASSIGN_OR_RETURN(const auto document, ReadDocument(store, path, deadline));
    if (!document || !DescribesArrays(dialect, *document)) continue;
    const auto found = ParseArray(dialect, *document, JsonValue());
    auto schema = found ? SchemaOf(*found) : Forward(found.error(), "");
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
