#include "store/source/mentioned_names.h"

#include <algorithm>

#include "store/object/key.h"

namespace unshard {
namespace {

// Groups of more children than this are listed in part.
constexpr std::size_t kMostMentioned = 100'000;

class Mentions {
 public:
  // The document that begins a dataset of the format; "" where it may have none.
  explicit Mentions(std::string document) : document_(std::move(document)) {}

  void AddDirectory(const std::string& directory) {
    if (directory.empty() || names_.directories.size() >= kMostMentioned) return;
    names_.directories.push_back(directory);
    if (!document_.empty()) names_.documents.push_back(JoinPath(directory, document_));
  }
  void AddMember(const JsonValue& object, std::string_view member) {
    AddDirectory(TextOf(object, member));
  }
  // `path` of each item of the list `member`.
  void AddPaths(const JsonValue& object, std::string_view member, std::string_view path) {
    for (const JsonValue& item : ItemsOf(object, member)) AddMember(item, path);
  }
  // The groups that a transformation of OME-Zarr 0.6 leads from and to, and that of its matrix.
  void AddTransformations(const JsonValue& owner) {
    for (const JsonValue& one : ItemsOf(owner, "coordinateTransformations")) {
      AddMember(one, "path");
      for (const char* end : {"input", "output"}) {
        if (const JsonValue* system = one.Find(end)) AddMember(*system, "path");
      }
    }
  }
  // https://ngff.openmicroscopy.org: multiscales, labels, plate, well, scene.
  void AddOme(const JsonValue& attributes) {
    for (const JsonValue& multiscale : ItemsOf(attributes, "multiscales")) {
      AddPaths(multiscale, "datasets", "path");
      AddTransformations(multiscale);
    }
    if (const JsonValue* scene = attributes.Find("scene")) AddTransformations(*scene);
    for (const JsonValue& label : ItemsOf(attributes, "labels")) {
      if (label.is_string()) AddDirectory(label.text());
    }
    if (const JsonValue* plate = attributes.Find("plate")) AddPaths(*plate, "wells", "path");
    if (const JsonValue* well = attributes.Find("well")) AddPaths(*well, "images", "path");
  }

  MentionedNames Take() { return std::move(names_); }
  MentionedNames& names() { return names_; }

 private:
  const std::string document_;
  MentionedNames names_;
};

std::size_t LevelsOf(const JsonValue& document, const char* shape) {
  const std::size_t rank = ItemsOf(document, shape).size();
  return rank > 0 ? rank - 1 : 0;
}

CatalogStore::ChunkDirectories ZarrDirectories(const JsonValue& document) {
  const JsonValue* encoding = document.Find("chunk_key_encoding");
  const JsonValue* configuration = encoding ? encoding->Find("configuration") : nullptr;
  const bool v2 = encoding && TextOf(*encoding, "name") == "v2";
  std::string separator = configuration ? TextOf(*configuration, "separator") : "";
  if (separator.empty()) separator = v2 ? "." : "/";
  if (separator != "/" || ItemsOf(document, "shape").empty()) return {};
  return {v2 ? "" : "c", LevelsOf(document, "shape")};
}

MentionedNames OfZarr(const JsonValue& document) {
  Mentions mentions("zarr.json");
  if (const JsonValue* consolidated = document.Find("consolidated_metadata")) {
    if (const JsonValue* metadata = consolidated->Find("metadata")) {
      for (const auto& [path, node] : metadata->members()) mentions.AddDirectory(path);
    }
  }
  if (const JsonValue* attributes = document.Find("attributes")) {
    const JsonValue* ome = attributes->Find("ome");
    mentions.AddOme(ome ? *ome : *attributes);
  }
  if (TextOf(document, "node_type") == "array") mentions.names().chunks = ZarrDirectories(document);
  return mentions.Take();
}

MentionedNames OfZarr2(std::string_view name, const JsonValue& document) {
  if (name == ".zmetadata") {
    Mentions mentions("");
    const JsonValue* metadata = document.Find("metadata");
    if (metadata == nullptr) return {};
    for (const auto& [path, node] : metadata->members()) {
      mentions.AddDirectory(ParentPath(path));
      mentions.names().documents.push_back(path);
    }
    return mentions.Take();
  }
  // Labels and wells are groups, scales are arrays.
  Mentions mentions("");
  if (name == ".zattrs") mentions.AddOme(document);
  if (name == ".zarray") {
    const bool nested = TextOf(document, "dimension_separator") == "/";
    mentions.names().chunks.emplace(
        CatalogStore::ChunkDirectories{"", nested ? LevelsOf(document, "shape") : 0});
  }
  return mentions.Take();
}

MentionedNames OfN5(const JsonValue& document) {
  Mentions mentions("attributes.json");
  mentions.AddOme(document);
  // Viewers of N5 count the scales "s0", "s1", ….
  const std::size_t scales =
      std::max(ItemsOf(document, "scales").size(), ItemsOf(document, "downsamplingFactors").size());
  const bool array = document.Find("dimensions") != nullptr;
  for (std::size_t i = 0; i < scales && !array; ++i) mentions.AddDirectory("s" + std::to_string(i));
  if (array) {
    mentions.names().chunks.emplace(
        CatalogStore::ChunkDirectories{"", LevelsOf(document, "dimensions")});
  }
  return mentions.Take();
}

MentionedNames OfInfo(const JsonValue& document) {
  Mentions mentions("");
  mentions.AddPaths(document, "scales", "key");
  for (const char* member : {"mesh", "skeletons", "segment_properties"}) {
    mentions.AddMember(document, member);
  }
  if (const JsonValue* by_id = document.Find("by_id")) mentions.AddMember(*by_id, "key");
  mentions.AddPaths(document, "relationships", "key");
  mentions.AddPaths(document, "spatial", "key");
  return mentions.Take();
}

}  // namespace

MentionedNames NamesMentionedIn(std::string_view name, const JsonValue& document) {
  if (name == "zarr.json") return OfZarr(document);
  if (name == "info") return OfInfo(document);
  if (name == "attributes.json") return OfN5(document);
  return OfZarr2(name, document);
}

}  // namespace unshard
