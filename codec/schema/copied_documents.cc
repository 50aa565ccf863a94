// The document of an array is changed to the wanted chunks and codec in these steps:
//
//   1. Data type and domain, and chunks and codec as far as `wanted` does not constrain them, are
//   taken
//      from the schema of the unsharded array that a view of the source presents.
//   2. A new array is created from both (codec/schema/new_dataset.h).
//   3. The members of its document that say how chunks are stored replace those of the view's
//   document.
#include "codec/schema/copied_documents.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "codec/json/writer.h"
#include "codec/pyramid/dataset_view.h"
#include "codec/pyramid/n5_pyramid.h"
#include "codec/schema/array_schema.h"
#include "codec/schema/new_dataset.h"

namespace unshard {
namespace {

Result<JsonValue> SchemaOf(ArrayDialect format, const JsonValue& document, std::size_t level) {
  switch (format) {
    case ArrayDialect::kPrecomputed:
      return SchemaOfScale(document, level);
    case ArrayDialect::kZarr3:
      return SchemaOfZarr3Array(document);
    case ArrayDialect::kZarr2:
      return SchemaOfZarr2Array(document);
    case ArrayDialect::kN5:
      break;
  }
  return SchemaOfN5Dataset(document);
}

// Step 1.
Result<Schema> WithDefaults(const JsonValue& schema, const Schema& wanted) {
  JsonValue rest = JsonValue::Object();
  for (const char* name : {"dtype", "domain"}) {
    if (const JsonValue* value = schema.Find(name)) rest.Set(name, *value);
  }
  const JsonValue* codec = schema.Find("codec");
  if (codec != nullptr && !wanted.codec) rest.Set("codec", *codec);
  const JsonValue* layout = schema.Find("chunk_layout");
  const JsonValue* chunk = layout != nullptr ? layout->Find("read_chunk") : nullptr;
  if (const JsonValue* shape = chunk != nullptr ? chunk->Find("shape") : nullptr) {
    JsonValue soft = JsonValue::Object({{"shape_soft_constraint", *shape}});
    rest.Set("chunk_layout", JsonValue::Object({{"chunk", std::move(soft)}}));
  }
  UNSHARD_ASSIGN_OR_RETURN(const Schema base, ParseSchema(WriteJson(rest)));
  Schema merged = wanted;  // of soft constraints the first one wins
  UNSHARD_RETURN_IF_ERROR(merged.Merge(base));
  return merged;
}

// Step 3: members that `from` lacks are erased.
void TakeMembers(const JsonValue& from, std::initializer_list<const char*> names, JsonValue& to) {
  for (const char* name : names) {
    const JsonValue* value = from.Find(name);
    value != nullptr ? void(to.Set(name, *value)) : void(to.Erase(name));
  }
}

void TakeStorage(ArrayDialect format, JsonValue made, std::size_t level, JsonValue& document) {
  switch (format) {
    case ArrayDialect::kPrecomputed:
      TakeMembers(made.Find("scales")->items().front(),
                  {"chunk_sizes", "encoding", "sharding", "compressed_segmentation_block_size",
                   "jpeg_quality", "png_level"},
                  document.Find("scales")->mutable_items()[level]);
      return;
    case ArrayDialect::kZarr3:
      return TakeMembers(made, {"chunk_grid", "codecs"}, document);
    case ArrayDialect::kZarr2:
      return TakeMembers(made, {"chunks", "compressor", "filters", "order", "dtype"}, document);
    case ArrayDialect::kN5:
      return TakeMembers(made, {"blockSize", "compression"}, document);
  }
}

Status StoreAs(ArrayDialect format, const Schema& wanted, std::size_t level, JsonValue& document) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue schema, SchemaOf(format, document, level));
  UNSHARD_ASSIGN_OR_RETURN(const Schema constraints, WithDefaults(schema, wanted));
  UNSHARD_ASSIGN_OR_RETURN(auto made, NewDataset(format, constraints, {}));
  for (DatasetDocument& one : made) {
    const bool attributes = one.path == ".zattrs";
    if (!attributes) TakeStorage(format, std::move(one.document), level, document);
  }
  return {};
}

Result<PresentedDataset> Present(const SourceDataset& source, ArrayDialect to) {
  return source.dialect == to ? PresentUnshardedDataset(source) : PresentDataset(source, to, {});
}

}  // namespace

Result<std::vector<std::string>> LevelsOfCopy(const SourceDataset& source, ArrayDialect to) {
  UNSHARD_ASSIGN_OR_RETURN(const PresentedDataset presented, Present(source, to));
  std::vector<std::string> paths;
  for (const PresentedDataset::Level& level : presented.levels) paths.push_back(level.path);
  return paths;
}

Result<std::vector<DatasetDocument>> DocumentsOfCopy(const SourceDataset& source, ArrayDialect to,
                                                     const std::optional<Schema>& wanted,
                                                     std::vector<std::string>* warnings) {
  UNSHARD_ASSIGN_OR_RETURN(PresentedDataset presented, Present(source, to));
  if (warnings != nullptr) {
    warnings->insert(warnings->end(), presented.warnings.begin(), presented.warnings.end());
  }
  for (std::size_t level = 0; wanted && level < presented.levels.size(); ++level) {
    const std::string directory =
        to == ArrayDialect::kPrecomputed ? std::string() : presented.levels[level].path;
    for (PresentedDataset::Document& document : presented.documents) {
      if (document.directory != directory || document.name != ArrayDocumentName(to)) continue;
      Status stored = StoreAs(to, *wanted, level, document.content);
      if (stored) continue;
      return Forward(std::move(stored).error(), "level " + std::to_string(level));
    }
  }
  std::vector<DatasetDocument> documents;
  for (PresentedDataset::Document& document : presented.documents) {
    if (to == ArrayDialect::kN5 && document.directory.empty()) SetN5Version(document.content);
    const std::string prefix = document.directory.empty() ? "" : document.directory + "/";
    documents.push_back({prefix + document.name, std::move(document.content)});
  }
  return documents;
}

}  // namespace unshard
