#include "store/dataset/view_source.h"

#include <map>
#include <string_view>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/ome_conversion.h"
#include "codec/pyramid/ome_pyramid.h"
#include "store/object/key.h"
#include "store/source/document_names.h"

namespace unshard {
namespace {

using Kind = SourceDataset::Kind;

// More levels than any pyramid has.
constexpr std::size_t kMostLevels = 64;

class Reader {
 public:
  Reader(DirectoryDocuments& here, Arrays arrays)
      : store_(here.store()), path_(here.directory()), here_(here), arrays_(arrays) {}

  Result<std::optional<ViewSource>> Read();

 private:
  struct Text {
    std::string_view text;  // documents may be long: held by here_ or below_
    JsonValue json;
  };
  [[nodiscard]] Result<Array> Accept(Result<Array> array) const {
    return arrays_ == Arrays::kVoxels ? ForVoxels(std::move(array)) : ForPassing(std::move(array));
  }
  // A document of a directory below; its text and version are noted.
  Result<std::optional<Text>> Document(const std::string& below, const std::string& name);
  Result<std::optional<Text>> Primary(const std::string& name);
  tl::unexpected<Error> At(const std::string& name, Error error) const {
    return Forward(std::move(error), store_.Describe(JoinPath(path_, name)));
  }

  Result<bool> ReadPrecomputed(const Text& info);
  Result<bool> ReadZarr3(const Text& document);
  Result<bool> ReadZarr2(const std::optional<Text>& array);
  Result<bool> ReadN5(const std::optional<Text>& attributes);
  // Adds the array that has a document of Zarr or N5.
  Status AddArray(const std::string& below, const Text& document);
  Status AddOnlyArray(const Text& document);
  // The levels of a multiscale, or none.
  Status AddOmeLevels();
  void Add(const std::string& below, Array array, ViewSource::Level level);

  ObjectStore& store_;
  const std::string& path_;
  DirectoryDocuments& here_;
  const Arrays arrays_;
  std::map<std::string, DirectoryDocuments> below_;  // of levels, by their path below
  ViewSource source_;
};

Result<std::optional<Reader::Text>> Reader::Document(const std::string& below,
                                                     const std::string& name) {
  DirectoryDocuments& documents =
      below.empty() ? here_
                    : below_.try_emplace(below, store_, JoinPath(path_, below), here_.catalog())
                          .first->second;
  const DirectoryDocuments::Document& read = documents.Read(name);
  if (!read) return tl::unexpected<Error>(read.error());
  if (!*read) return std::nullopt;
  const WholeObject& object = **read;
  const std::string key = JoinPath(below, name);
  auto json = ParseJson(object.text);
  if (!json) return At(key, std::move(json).error());
  source_.documents[key] = object.info;
  source_.text += object.text;
  return Text{object.text, *std::move(json)};
}

Result<std::optional<Reader::Text>> Reader::Primary(const std::string& name) {
  auto document = Document("", name);
  // A dataset, or anything else, of that name: only a file is a document.
  if (!document && document.error().code == ErrorCode::kDataLoss) {
    const auto there = store_.Stat(JoinPath(path_, name), CallerDeadline());
    if (there && *there && (*there)->kind == ObjectInfo::Kind::kDirectory) return std::nullopt;
  }
  if (document && *document) {
    source_.document = name;
    source_.info = source_.documents[name];
  }
  return document;
}

void Reader::Add(const std::string& below, Array array, ViewSource::Level level) {
  if (level.directory.empty()) level.directory = JoinPath(path_, below);
  if (level.precomputed_shards) {
    level.stored_layout = WriteJson(level.precomputed_shards->layout, 0);
  } else if (level.stored_layout.empty()) {
    level.stored_layout = level.layout;
  }
  source_.dataset.levels.push_back({below, std::move(array)});
  source_.levels.push_back(std::move(level));
}

Result<bool> Reader::ReadPrecomputed(const Text& document) {
  source_.dataset.dialect = Dialect::kPrecomputed;
  auto info = ParseNeuroglancerInfo(document.json);
  if (!info) return At("info", std::move(info).error());
  if (info->type != NeuroglancerInfo::Type::kVolume) return false;
  source_.dataset.kind = Kind::kPyramid;
  source_.dataset.attributes = document.json;
  source_.closed = true;
  for (std::size_t i = 0; i < info->scales.size(); ++i) {
    VolumeScale& scale = info->scales[i];
    auto array = Accept(std::move(scale.array));
    if (!array) return At("info", std::move(array).error());
    ViewSource::Level level;
    const auto directory = ResolvePath(path_, scale.directory);
    if (!directory) {
      return At("info", Error{ErrorCode::kPermissionDenied, scale.json_path + ": the directory " +
                                                                scale.directory +
                                                                " is outside the mounted source"});
    }
    level.directory = *directory;
    if (scale.sharded) level.precomputed_shards = std::move(info->sharded[*scale.sharded]);
    JsonValue layout = document.json.Find("scales")->items()[i];
    layout.Set("data_type", JsonValue::String(array->type_name));
    layout.Set("num_channels", JsonValue::Number(array->shape.front()));
    level.layout = WriteJson(layout, 0);
    Add(scale.directory, *std::move(array), std::move(level));
  }
  return true;
}

Status Reader::AddArray(const std::string& below, const Text& document) {
  const Dialect dialect = source_.dataset.dialect;
  std::optional<Text> attributes;
  if (dialect == Dialect::kZarr2) {
    UNSHARD_ASSIGN_OR_RETURN(attributes, Document(below, ".zattrs"));
  }
  const JsonValue given = attributes ? attributes->json : JsonValue();
  ViewSource::Level level;
  level.layout = document.text;
  if (dialect == Dialect::kZarr2) {
    level.layout = WriteJson(JsonValue::Array({document.json, given}), 0);
  }
  const auto read = [&]() -> Result<Array> {
    if (dialect != Dialect::kZarr3) return Accept(ParseArray(dialect, document.json, given));
    UNSHARD_ASSIGN_OR_RETURN(ZarrNode node, ParseZarrMetadata(document.json));
    level.zarr_shards = std::move(node.sharded);
    if (level.zarr_shards) level.stored_layout = std::move(node.layout);
    return Accept(std::move(node.array));
  };
  auto array = read();
  if (!array) return At(JoinPath(below, ArrayDocumentName(dialect)), std::move(array).error());
  Add(below, *std::move(array), std::move(level));
  return {};
}

Status Reader::AddOnlyArray(const Text& document) {
  source_.dataset.kind = Kind::kArray;
  source_.closed = true;
  return AddArray("", document);
}

Status Reader::AddOmeLevels() {
  SourceDataset& dataset = source_.dataset;
  auto paths = OmeLevelPaths(OmeOf(dataset.dialect, dataset.attributes));
  if (!paths) return At(source_.document, std::move(paths).error());
  for (const std::string& below : *paths) {
    if (!ResolvePath("", below) || *ResolvePath("", below) != below) {
      return At(source_.document,
                Error{ErrorCode::kNotSupported, "multiscales[0]: the path " + below +
                                                    " does not name a directory below the group"});
    }
    const char* const name = ArrayDocumentName(dataset.dialect);
    UNSHARD_ASSIGN_OR_RETURN(const auto document, Document(below, name));
    if (!document) {
      return At(JoinPath(below, name),
                Error{ErrorCode::kDataLoss, "expected the array of a level"});
    }
    UNSHARD_RETURN_IF_ERROR(AddArray(below, *document));
  }
  if (!paths->empty()) dataset.kind = Kind::kPyramid;
  return {};
}

Result<bool> Reader::ReadZarr3(const Text& document) {
  SourceDataset& dataset = source_.dataset;
  dataset.dialect = Dialect::kZarr3;
  if (TextOf(document.json, "node_type") == "array") {
    UNSHARD_RETURN_IF_ERROR(AddOnlyArray(document));
    return true;
  }
  if (auto group = ParseZarrMetadata(document.json); !group) {
    return At("zarr.json", std::move(group).error());
  }
  if (const JsonValue* attributes = document.json.Find("attributes")) {
    if (attributes->is_object()) dataset.attributes = *attributes;
  }
  UNSHARD_RETURN_IF_ERROR(AddOmeLevels());
  return true;
}

Result<bool> Reader::ReadZarr2(const std::optional<Text>& array) {
  SourceDataset& dataset = source_.dataset;
  dataset.dialect = Dialect::kZarr2;
  if (array) {
    UNSHARD_RETURN_IF_ERROR(AddOnlyArray(*array));
    return true;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto attributes, Document("", ".zattrs"));
  if (attributes && attributes->json.is_object()) dataset.attributes = attributes->json;
  UNSHARD_RETURN_IF_ERROR(AddOmeLevels());
  return true;
}

// Levels are s0, s1, … where the first of them is a dataset.
Result<bool> Reader::ReadN5(const std::optional<Text>& attributes) {
  SourceDataset& dataset = source_.dataset;
  dataset.dialect = Dialect::kN5;
  const auto is_dataset = [](const JsonValue& json) {
    return json.Find("dimensions") != nullptr && json.Find("blockSize") != nullptr;
  };
  if (attributes && attributes->json.is_object()) dataset.attributes = attributes->json;
  if (attributes && is_dataset(attributes->json)) {
    UNSHARD_RETURN_IF_ERROR(AddOnlyArray(*attributes));
    return true;
  }
  for (std::size_t i = 0; i < kMostLevels; ++i) {
    const std::string below = "s" + std::to_string(i);
    UNSHARD_ASSIGN_OR_RETURN(const auto level, Document(below, "attributes.json"));
    if (!level || !is_dataset(level->json)) break;
    UNSHARD_RETURN_IF_ERROR(AddArray(below, *level));
  }
  if (!dataset.levels.empty()) {
    dataset.kind = Kind::kPyramid;
    if (source_.document.empty()) {
      source_.document = "s0/attributes.json";
      source_.info = source_.documents[source_.document];
    }
  }
  return attributes || !dataset.levels.empty();
}

Result<std::optional<ViewSource>> Reader::Read() {
  bool found = false;
  UNSHARD_ASSIGN_OR_RETURN(const auto info, Primary("info"));
  std::optional<Text> zarr3, zarr2, group;
  if (info && info->json.is_object()) {
    UNSHARD_ASSIGN_OR_RETURN(found, ReadPrecomputed(*info));
    if (!found) return std::nullopt;
  }
  if (!found) {
    UNSHARD_ASSIGN_OR_RETURN(zarr3, Primary("zarr.json"));
    if (zarr3) {
      UNSHARD_ASSIGN_OR_RETURN(found, ReadZarr3(*zarr3));
    }
  }
  if (!found) {
    UNSHARD_ASSIGN_OR_RETURN(zarr2, Primary(".zarray"));
    if (!zarr2) {
      UNSHARD_ASSIGN_OR_RETURN(group, Primary(".zgroup"));
    }
    if (zarr2 || group) {
      UNSHARD_ASSIGN_OR_RETURN(found, ReadZarr2(zarr2));
    }
  }
  if (!found) {
    UNSHARD_ASSIGN_OR_RETURN(const auto attributes, Primary("attributes.json"));
    UNSHARD_ASSIGN_OR_RETURN(found, ReadN5(attributes));
  }
  if (!found) return std::nullopt;
  for (const std::string_view name : kMetadataNames) source_.hidden.emplace(name);
  source_.hidden.emplace(kConsolidatedDocument);
  return std::move(source_);
}

}  // namespace

std::optional<Dialect> DialectOf(DirectoryDocuments& documents) {
  const auto has = [&](const char* name) {
    const auto& document = documents.Read(name);
    return document && *document;
  };
  for (const Dialect dialect : kDialects) {
    if (has(ArrayDocumentName(dialect))) return dialect;
    if (dialect == Dialect::kZarr2 && has(".zgroup")) return dialect;
  }
  return std::nullopt;
}

bool HasOtherOmeVersion(DirectoryDocuments& documents, const OmeVersion* version) {
  if (version == nullptr) return false;
  const bool is_zarr3 = version->dialect == Dialect::kZarr3;
  const auto& document = documents.Read(is_zarr3 ? "zarr.json" : ".zattrs");
  if (!document || !*document) return false;
  const auto json = ParseJson((*document)->text);
  const JsonValue* attributes = json && is_zarr3 ? json->Find("attributes") : nullptr;
  if (json && !is_zarr3) attributes = &*json;
  return attributes != nullptr && HasOtherOmeVersion(version->dialect, *attributes, *version);
}

Result<std::optional<ViewSource>> ReadViewSource(DirectoryDocuments& here, Arrays arrays) {
  return Reader(here, arrays).Read();
}

Result<std::optional<ViewSource>> ReadViewSource(ObjectStore& store, const std::string& path,
                                                 CatalogStore* catalog, Arrays arrays) {
  DirectoryDocuments here(store, path, catalog);
  return ReadViewSource(here, arrays);
}

}  // namespace unshard
