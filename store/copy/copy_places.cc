#include "store/copy/copy_places.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "codec/pyramid/ome_version.h"
#include "store/object/key.h"
#include "store/object/keys_below.h"

namespace unshard {
namespace {

// Named in a message; the others are counted.
constexpr std::size_t kMostNamed = 3;

// What precomputed volumes say in other members, and what only the other formats need.
constexpr std::array<std::string_view, 20> kSaidOtherwise = {
    "multiscales",         "version",         "ome",        "axes",        "units",
    "resolution",          "offset",          "scales",     "multiScale",  "n5",
    "downsamplingFactors", "pixelResolution", "dimensions", "blockSize",   "dataType",
    "compression",         "dimension_units", "name",       "zarr_format", "_ARRAY_DIMENSIONS"};

class Places {
 public:
  Places(ObjectStore& store, const DatasetMembers& source) : store_(store) {
    for (const DatasetMember& dataset : source.datasets) {
      datasets_.insert(dataset.path);
      for (const ViewSource::Level& level : dataset.source.levels) levels_.insert(level.directory);
    }
    members_ = datasets_;
    for (const DatasetMember& group : source.groups) members_.insert(group.path);
    for (const FileDirectory& files : source.files) members_.insert(files.path);
  }

  // Whether something of the source has the path of a level, or lies below it; or is a dataset or a
  // file where a directory above the level has to be.
  Result<bool> AreTaken(const std::string& dataset, const std::string& level) const {
    if (members_.contains(level) || !KeysBelow(members_, level).empty()) return true;
    if (levels_.contains(level)) return false;
    for (std::string at = level; at != dataset && !at.empty(); at = ParentPath(at)) {
      if (datasets_.contains(at)) return true;
      UNSHARD_ASSIGN_OR_RETURN(const auto there, store_.Stat(at, CallerDeadline()));
      if (there && there->kind != ObjectInfo::Kind::kDirectory) return true;
    }
    return false;
  }

 private:
  ObjectStore& store_;
  std::set<std::string> datasets_;
  std::set<std::string> levels_;
  std::set<std::string> members_;
};

// "labels/cells, labels/nuclei and 3 more".
std::string Names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostNamed) {
    text += " and " + std::to_string(names.size() - kMostNamed) + " more";
  }
  return text;
}

// The attributes that precomputed has no member for.
std::vector<std::string> AttributesLost(const SourceDataset& dataset) {
  std::vector<std::string> names;
  const auto add = [&](const JsonValue& attributes) {
    if (!attributes.is_object()) return;
    for (const auto& [name, value] : attributes.members()) {
      const bool said = std::ranges::find(kSaidOtherwise, name) != kSaidOtherwise.end();
      if (!said && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  add(dataset.attributes);
  add(OmeOf(dataset.dialect, dataset.attributes));
  return names;
}

}  // namespace

std::vector<LevelPlace> LevelPlacesOf(const std::vector<DatasetMember>& destination) {
  std::vector<LevelPlace> places;
  for (const DatasetMember& dataset : destination) {
    for (const ViewSource::Level& level : dataset.source.levels) {
      places.push_back({dataset.path, level.directory});
    }
  }
  return places;
}

Status CheckPlaces(ObjectStore& store, const DatasetMembers& source,
                   const std::vector<LevelPlace>& levels) {
  const Places places(store, source);
  for (const auto& [dataset, directory] : levels) {
    if (directory == dataset) continue;
    UNSHARD_ASSIGN_OR_RETURN(const bool taken, places.AreTaken(dataset, directory));
    if (!taken) continue;
    return Fail(ErrorCode::kInvalidArgument, store.Describe(directory),
                ": in the destination this is the path of a level of ",
                dataset.empty() ? "the pyramid" : dataset,
                "; rename it, or copy the datasets of the source one by one");
  }
  return {};
}

FormatsByPath::FormatsByPath(const std::vector<DatasetMember>& destination) {
  // Where no dataset is above.
  formats_[""] = destination.front().source.dataset.dialect;
  for (const DatasetMember& dataset : destination) {
    formats_[dataset.path] = dataset.source.dataset.dialect;
  }
}

Dialect FormatsByPath::At(std::string path) const {
  for (;; path = ParentPath(path)) {
    const auto found = formats_.find(path);
    if (found != formats_.end()) return found->second;
  }
}

std::vector<FileDirectory> FilesToCopy(const DatasetMembers& source, const FormatsByPath& formats) {
  std::vector<FileDirectory> copied;
  std::ranges::copy_if(source.files, std::back_inserter(copied), [&](const FileDirectory& files) {
    return files.kind == FileDirectory::Kind::kPlain ||
           formats.At(files.path) == Dialect::kPrecomputed;
  });
  return copied;
}

std::vector<std::string> LossesOf(ObjectStore& store, const DatasetMembers& source,
                                  const FormatsByPath& formats) {
  std::vector<std::string> losses, objects, attributes;
  for (const FileDirectory& files : source.files) {
    const bool copied = formats.At(files.path) == Dialect::kPrecomputed;
    if (files.kind == FileDirectory::Kind::kObjects && !copied) objects.push_back(files.path);
  }
  const auto add_attributes = [&](const DatasetMember& member) {
    const SourceDataset& dataset = member.source.dataset;
    if (dataset.dialect == Dialect::kPrecomputed) return;
    if (formats.At(member.path) != Dialect::kPrecomputed) return;
    const std::vector<std::string> lost = AttributesLost(dataset);
    if (lost.empty()) return;
    attributes.push_back((member.path.empty() ? "" : member.path + ": ") + Names(lost));
  };
  for (const DatasetMember& dataset : source.datasets) add_attributes(dataset);
  for (const DatasetMember& group : source.groups) add_attributes(group);
  const std::string where = store.Describe("");
  if (!objects.empty()) {
    losses.push_back(where +
                     ": only the precomputed format has meshes, skeletons, annotations and segment "
                     "properties; not copied: " +
                     Names(objects));
  }
  if (!attributes.empty()) {
    losses.push_back(where + ": a precomputed volume cannot hold these attributes; not copied: " +
                     Names(attributes));
  }
  if (!store.capabilities().lists &&
      source.datasets.front().source.dataset.kind == SourceDataset::Kind::kPyramid) {
    losses.push_back(where +
                     ": cannot be listed: directories beside the levels are copied only if "
                     "metadata mention them, and files are not copied");
  }
  return losses;
}

}  // namespace unshard
