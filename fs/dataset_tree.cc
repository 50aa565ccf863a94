#include "fs/dataset_tree.h"

#include <algorithm>
#include <deque>

#include "codec/chunk_key.h"
#include "codec/json.h"
#include "codec/metadata_merge.h"
#include "fs/morton_probe.h"
#include "fs/node_id.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{64} << 20;
// A directory with more entries than this is data, not a place to search for datasets.
constexpr std::size_t kMaxSearchedEntries = 100000;

std::string ShapeText(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

std::string_view NameOf(NeuroglancerInfo::Type type) {
  switch (type) {
    case NeuroglancerInfo::Type::kVolume:
      return "precomputed volume";
    case NeuroglancerInfo::Type::kMeshes:
      return "precomputed meshes";
    case NeuroglancerInfo::Type::kSkeletons:
      return "precomputed skeletons";
    case NeuroglancerInfo::Type::kAnnotations:
      return "precomputed annotations";
    case NeuroglancerInfo::Type::kOther:
      return "precomputed";
  }
  return "precomputed";
}

FoundDataset FoundArray(const std::string& path, const std::string& format,
                        const ArrayDescription& array) {
  FoundDataset found;
  found.path = path;
  found.format = format;
  found.data_type = array.data_type;
  found.encoding = array.encoding;
  found.shape = array.shape;
  found.chunk_shape = array.chunk_shape;
  if (!array.shape.empty()) {
    found.description = array.data_type + " " + ShapeText(array.shape) + ", chunks " +
                        ShapeText(array.chunk_shape) + ", " + array.encoding;
  }
  return found;
}

// Shape, chunks, type and compression of a Zarr v2 or N5 array, as far as the document says them.
ArrayDescription DescribePlainArray(const JsonValue& document, const char* shape,
                                    const char* chunk_shape, const char* data_type,
                                    const char* compression) {
  const auto numbers = [&](const char* name) {
    std::vector<std::uint64_t> extents;
    const JsonValue* member = document.Find(name);
    if (member == nullptr || !member->is_array()) return extents;
    for (const JsonValue& item : member->items()) {
      extents.push_back(ParseDecimal(item.text()).value_or(0));
    }
    return extents;
  };
  const auto text = [](const JsonValue* member) {
    return member != nullptr && member->is_string() ? member->text() : std::string();
  };
  ArrayDescription array{text(document.Find(data_type)), text(document.Find(compression)),
                         numbers(shape), numbers(chunk_shape)};
  if (const JsonValue* object = document.Find(compression); object && object->is_object()) {
    array.encoding = text(object->Find(object->Find("id") ? "id" : "type"));
  }
  return array;
}

// The part of an array's metadata that decides about its trees.
std::string ArrayStructure(std::string_view text) {
  auto document = ParseJson(text);
  if (!document) return {};
  document->Erase("attributes");
  document->Erase("dimension_names");
  document->Erase("fill_value");
  return WriteJson(*document, 0);
}

// Of `info` files the whole text is taken down.
bool SameStructure(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && (a == b || SameNeuroglancerLayout(a, b));
}

void Merge(const DirectoryOverlay& from, DirectoryOverlay& to) {
  if (from.document) to.document = from.document;
  to.trees.insert(to.trees.end(), from.trees.begin(), from.trees.end());
  to.virtual_children.insert(from.virtual_children.begin(), from.virtual_children.end());
  to.opaque |= from.opaque;
  to.holds_plain_chunks |= from.holds_plain_chunks;
  if (from.fault) to.fault = from.fault;
}

}  // namespace

DatasetTree::DatasetTree(std::shared_ptr<KvStore> store, std::shared_ptr<ChangeWatcher> watcher,
                         std::shared_ptr<IndexCache> cache, const DatasetTreeOptions& options)
    : store_(std::move(store)),
      watcher_(std::move(watcher)),
      cache_(std::move(cache)),
      options_(options) {}

Status DatasetTree::Discover() {
  UNSHARD_ASSIGN_OR_RETURN(const auto root, store_->Stat(""));
  if (!root) return Fail(ErrorCode::kNotFound, store_->Describe("") + ": no such directory");
  std::deque<std::string> pending{""};
  std::size_t searched = 0;
  while (!pending.empty() && searched < options_.max_directories) {
    const std::string path = pending.front();
    pending.pop_front();
    if (IsBelowOpaque(path)) continue;
    const auto contribution = Examine(path);
    ++searched;
    for (const FoundDataset& found : contribution->found) {
      if (!found.fault) continue;
      if (path.empty()) return tl::unexpected<Error>(*found.fault);
      LogWarning(found.fault->message);
    }
    const auto overlay = contribution->overlays.find(path);
    if (overlay != contribution->overlays.end() && overlay->second.opaque) continue;
    std::size_t entries = 0;
    UNSHARD_RETURN_IF_ERROR(store_->List(path, [&](const ListEntry& entry) {
      if (entry.kind == ObjectInfo::Kind::kDirectory) {
        pending.push_back(JoinPath(path, entry.name));
      }
      return ++entries < kMaxSearchedEntries;
    }));
  }
  if (found().empty()) {
    return Fail(ErrorCode::kNotFound,
                store_->Describe("") +
                    ": no dataset found: looked for info (precomputed), zarr.json (Zarr v3), "
                    ".zarray and .zgroup (Zarr v2) and attributes.json (N5) in " +
                    std::to_string(searched) + (searched == 1 ? " directory" : " directories"));
  }
  return {};
}

bool DatasetTree::IsBelowOpaque(const std::string& path) const {
  const std::shared_lock lock(mutex_);
  for (std::string above = path; !above.empty();) {
    const auto own = overlays_.find(above);
    if (own != overlays_.end() && own->second->opaque && above != path) return true;
    above = ParentPath(above);
  }
  const auto root = overlays_.find("");
  return !path.empty() && root != overlays_.end() && root->second->opaque;
}

bool DatasetTree::HasFault(const Contribution& contribution) {
  return std::any_of(contribution.found.begin(), contribution.found.end(),
                     [](const FoundDataset& found) { return found.fault.has_value(); });
}

std::shared_ptr<const DatasetTree::Contribution> DatasetTree::ContributionAt(
    const std::string& path) const {
  const std::shared_lock lock(mutex_);
  const auto found = contributions_.find(path);
  return found == contributions_.end() ? nullptr : found->second;
}

std::shared_ptr<const DatasetTree::Contribution> DatasetTree::GoodBefore(
    const std::string& path) const {
  const auto before = ContributionAt(path);
  return before && !before->found.empty() && !HasFault(*before) ? before : nullptr;
}

// Where only attributes changed the trees stay, with their generations and all that is cached.
void DatasetTree::KeepTrees(const Contribution& before, Contribution& after) {
  for (auto& [at, overlay] : after.overlays) {
    const auto old = before.overlays.find(at);
    if (old != before.overlays.end()) overlay.trees = old->second.trees;
  }
  for (FoundDataset& found : after.found) {
    const auto same = std::find_if(before.found.begin(), before.found.end(), [&](const auto& old) {
      return old.tree && found.tree && old.path == found.path && old.format == found.format;
    });
    if (same != before.found.end()) found.tree = same->tree;
  }
}

std::shared_ptr<const DatasetTree::Contribution> DatasetTree::Examine(const std::string& path) {
  auto contribution = std::make_shared<Contribution>();
  const auto read = [&](const char* name, auto&& parse) {
    const auto object = ReadWhole(*store_, JoinPath(path, name), kMaxDocumentBytes);
    Status status;
    ObjectInfo source;
    if (!object) {
      status = tl::unexpected<Error>(object.error());
      const auto unreadable = store_->Stat(JoinPath(path, name));
      if (unreadable && *unreadable) source = **unreadable;
    } else if (*object) {
      source = (*object)->info;
      if (watcher_) watcher_->Watch(path);
      status = parse(**object);
    }
    if (status) return;
    const Error fault = Error(status.error()).Annotate(store_->Describe(JoinPath(path, name)));
    DirectoryOverlay broken;
    broken.fault = fault;
    broken.opaque = true;
    broken.document = Document{name, nullptr, source};
    contribution->overlays.clear();
    contribution->overlays[path] = broken;
    FoundDataset found;
    found.path = path;
    found.format = "broken dataset";
    found.fault = fault;
    contribution->found = {found};
  };
  read("info",
       [&](const WholeObject& object) { return ReadPrecomputed(path, object, *contribution); });
  read("zarr.json",
       [&](const WholeObject& object) { return ReadZarr(path, object, *contribution); });
  if (contribution->found.empty()) ReadOther(path, *contribution);
  const auto known = ContributionAt(path);
  if (known && !HasFault(*known) && HasFault(*contribution)) {
    // A writer that writes in place shows half a document for a moment.
    LogWarning(contribution->found.front().fault->message +
               (known->found.empty() ? "; it is passed through as it is"
                                     : "; going on with what stood there before"));
    return known;
  }
  const auto before = GoodBefore(path);
  if (before && SameStructure(before->structure, contribution->structure)) {
    KeepTrees(*before, *contribution);
  }
  Publish(path, contribution);
  return contribution;
}

Status DatasetTree::ReadPrecomputed(const std::string& path, const WholeObject& object,
                                    Contribution& to) {
  auto info = ParseNeuroglancerInfo(object.text);
  if (!info) {
    // A file that happens to be called "info" and is no JSON object is not ours to judge.
    const auto document = ParseJson(object.text);
    const bool ours = path.empty() || (document && document->is_object()) || GoodBefore(path);
    if (!ours) return {};
    return tl::unexpected<Error>(info.error());
  }
  if (info->type == NeuroglancerInfo::Type::kOther) {
    const auto document = ParseJson(object.text);
    if (!path.empty() || document->is_object()) return {};
    return JsonCursor(*document, "").Expected("an object");
  }
  to.structure = object.text;
  DirectoryOverlay& here = to.overlays[path];
  if (info->unsharded_text != object.text) {
    here.document =
        Document{"info", std::make_shared<const std::string>(info->unsharded_text), object.info};
  }
  for (const ReferredDirectory& referred : info->referred) {
    const auto directory = ResolvePath(path, referred.directory);
    if (!directory || !referred.holds_chunks) continue;
    to.overlays[*directory].opaque = *directory != path;
    to.overlays[*directory].holds_plain_chunks = true;
    if (!referred.array.shape.empty()) {
      to.found.push_back(FoundArray(*directory, "precomputed scale", referred.array));
    }
  }
  FoundDataset volume;
  volume.path = path;
  volume.format = NameOf(info->type);
  to.found.insert(to.found.begin(), volume);
  for (const ShardedDirectory& sharded : info->sharded) {
    const auto directory = ResolvePath(path, sharded.directory);
    if (!directory) {
      return Fail(ErrorCode::kPermissionDenied,
                  sharded.json_path + ": the directory " + sharded.directory +
                      " leaves the mounted source; mount a directory that holds both");
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto tree, OpenPrecomputed(*directory, sharded));
    to.overlays[*directory].trees.push_back(tree);
    to.overlays[*directory].opaque |= *directory != path;
    const bool scale = sharded.names == ShardedDirectory::Names::kChunkRanges;
    const std::string format = scale ? "precomputed scale" : std::string(NameOf(info->type));
    FoundDataset found = FoundArray(*directory, format + ", sharded", sharded.array);
    if (!scale) found.description = sharded.description;
    found.tree = tree;
    to.found.push_back(found);
  }
  return {};
}

Status DatasetTree::ReadZarr(const std::string& path, const WholeObject& object, Contribution& to) {
  UNSHARD_ASSIGN_OR_RETURN(ZarrNode node, ParseZarrMetadata(object.text));
  DirectoryOverlay& here = to.overlays[path];
  if (node.unsharded_text != object.text) {
    here.document = Document{"zarr.json", std::make_shared<const std::string>(node.unsharded_text),
                             object.info};
  }
  for (const std::string& warning : node.warnings) {
    LogWarning(store_->Describe(JoinPath(path, "zarr.json")) + ": " + warning);
  }
  FoundDataset found;
  found.path = path;
  found.format = node.type == ZarrNode::Type::kGroup ? "zarr v3 group" : "zarr v3 array";
  found.data_type = node.data_type;
  found.encoding = node.codecs;
  found.shape = node.shape;
  found.chunk_shape = node.chunk_shape;
  if (node.type == ZarrNode::Type::kArray) {
    here.opaque = true;
    found.description = node.data_type + " " + ShapeText(node.shape) + ", chunks " +
                        ShapeText(node.chunk_shape) + ", " + node.codecs;
    to.structure = ArrayStructure(object.text);
  }
  if (node.sharded) {
    found.format = "zarr v3 array, sharded";
    found.shard_shape = node.sharded->shard_grid.chunk_shape();
    found.description += ", in shards of " + ShapeText(found.shard_shape);
    const auto shards = MakeShards(path, node.sharded->format, node.sharded->keys);
    const std::shared_ptr<ChunkTree> tree =
        MakeZarrTree(NextOrdinal(), shards, *node.sharded, store_);
    Register(tree);
    here.trees.push_back(tree);
    found.tree = tree;
  }
  to.found.push_back(found);
  return {};
}

void DatasetTree::ReadOther(const std::string& path, Contribution& to) {
  const auto read = [&](const char* name) -> std::optional<JsonValue> {
    const auto object = ReadWhole(*store_, JoinPath(path, name), kMaxDocumentBytes);
    if (!object || !*object) return std::nullopt;
    // These formats pass through: a document that we cannot read is for its reader to judge.
    return ParseJson((*object)->text).value_or(JsonValue());
  };
  FoundDataset found;
  found.path = path;
  if (const auto array = read(".zarray")) {
    found = FoundArray(path, "zarr v2 array",
                       DescribePlainArray(*array, "shape", "chunks", "dtype", "compressor"));
    to.overlays[path].opaque = true;
  } else if (read(".zgroup")) {
    found.format = "zarr v2 group";
  } else if (const auto attributes = read("attributes.json")) {
    found.format = "n5 group";
    if (attributes->Find("dimensions") && attributes->Find("blockSize")) {
      found = FoundArray(
          path, "n5 dataset",
          DescribePlainArray(*attributes, "dimensions", "blockSize", "dataType", "compression"));
      to.overlays[path].opaque = true;
    }
  } else {
    return;
  }
  to.found.push_back(found);
}

std::shared_ptr<ShardSet> DatasetTree::MakeShards(const std::string& directory,
                                                  std::shared_ptr<const ShardFormat> format,
                                                  std::shared_ptr<const ShardKeys> keys) {
  return std::make_shared<ShardSet>(store_, directory, std::move(format), std::move(keys), watcher_,
                                    cache_, options_.shards);
}

Result<std::shared_ptr<ChunkTree>> DatasetTree::OpenPrecomputed(const std::string& directory,
                                                                const ShardedDirectory& sharded) {
  const auto annotate = [&](const Error& error) { return Forward(error, sharded.json_path); };
  auto access = MakeAccess(sharded, MortonRule::kStandard);
  if (!access) return annotate(access.error());
  const auto shards = MakeShards(directory, access->format, access->keys);
  if (access->locator && options_.morton != MortonChoice::kStandard) {
    const MortonRule rule = options_.morton == MortonChoice::kLegacy
                                ? MortonRule::kLegacy
                                : DetectMortonRule(*store_, *shards, sharded);
    if (rule == MortonRule::kLegacy && options_.morton == MortonChoice::kDetect) {
      LogWarning(store_->Describe(directory) +
                 ": chunk ids follow the Morton rule of CloudVolume and igneous before June 2021");
    }
    access = MakeAccess(sharded, rule);
    if (!access) return annotate(access.error());
  }
  const std::shared_ptr<ChunkTree> tree =
      MakePrecomputedTree(NextOrdinal(), shards, sharded, access->locator, store_);
  Register(tree);
  return tree;
}

std::uint32_t DatasetTree::NextOrdinal() { return next_ordinal_.fetch_add(1); }

void DatasetTree::Register(const std::shared_ptr<ChunkTree>& tree) {
  tree->SetUnpublished(options_.unpublished);
  const std::unique_lock lock(mutex_);
  trees_[tree->ordinal()] = tree;
}

void DatasetTree::Publish(const std::string& path,
                          std::shared_ptr<const Contribution> contribution) {
  const std::unique_lock lock(mutex_);
  std::set<std::string> touched{path};
  if (const auto old = contributions_.find(path); old != contributions_.end()) {
    for (const auto& [at, overlay] : old->second->overlays) touched.insert(at);
  }
  for (const auto& [at, overlay] : contribution->overlays) touched.insert(at);
  contributions_[path] = std::move(contribution);

  std::set<std::string> parents;
  for (std::string at : touched) {
    for (; !at.empty(); at = ParentPath(at)) parents.insert(ParentPath(at));
  }
  std::map<std::string, DirectoryOverlay> merged;
  for (const auto& [source, own] : contributions_) {
    for (const auto& [at, overlay] : own->overlays) {
      if (touched.contains(at) || parents.contains(at)) Merge(overlay, merged[at]);
      if (overlay.trees.empty()) continue;
      for (std::string child = at; !child.empty(); child = ParentPath(child)) {
        if (parents.contains(ParentPath(child)) || touched.contains(ParentPath(child))) {
          merged[ParentPath(child)].virtual_children.insert(BaseName(child));
        }
      }
    }
  }
  touched.insert(parents.begin(), parents.end());
  for (const std::string& at : touched) {
    const auto found = merged.find(at);
    if (found == merged.end()) {
      overlays_.erase(at);
    } else {
      overlays_[at] = std::make_shared<const DirectoryOverlay>(std::move(found->second));
    }
  }
}

std::shared_ptr<const DirectoryOverlay> DatasetTree::Find(const std::string& path) {
  const auto present = [&]() -> std::shared_ptr<const DirectoryOverlay> {
    const std::shared_lock lock(mutex_);
    const auto found = overlays_.find(path);
    return found == overlays_.end() ? nullptr : found->second;
  };
  const bool examined = ContributionAt(path) != nullptr;
  const auto overlay = present();
  if (overlay && overlay->fault) {
    if (!IsAnotherVersion(path, *overlay->document)) return overlay;
    Examine(path);
    return present();
  }
  if (examined) return overlay;
  if (overlay && (overlay->opaque || !overlay->trees.empty())) return overlay;
  if (IsBelowOpaque(path)) return overlay;
  Examine(path);
  return present();
}

bool DatasetTree::HoldsPlainGroup(const std::string& path) {
  const auto overlay = Find(path);
  if (overlay && (overlay->opaque || overlay->fault)) return false;
  if (overlay && overlay->document && overlay->document->name == kZarrDocument) return false;
  return !IsBelowOpaque(path);
}

// What was read while it was being written is not held against it.
bool DatasetTree::IsAnotherVersion(const std::string& path, const Document& document) const {
  const auto now = store_->Stat(JoinPath(path, document.name));
  return now && (!*now || (*now)->generation != document.source.generation);
}

bool DatasetTree::Reload(const std::string& path) {
  const auto before = ContributionAt(path);
  const auto after = Examine(path);
  RetireTrees();
  return !before || before->structure != after->structure;
}

void DatasetTree::RetireTrees() {
  std::vector<std::shared_ptr<ChunkTree>> released;  // closes files after the lock is given up
  const std::unique_lock lock(mutex_);
  std::set<std::uint32_t> used;
  for (const auto& [at, overlay] : overlays_) {
    for (const auto& tree : overlay->trees) used.insert(tree->ordinal());
  }
  std::size_t retired = trees_.size() - used.size();
  for (auto at = trees_.begin(); at != trees_.end() && retired > kRetiredTrees;) {
    if (used.contains(at->first)) {
      ++at;
      continue;
    }
    released.push_back(std::move(at->second));
    at = trees_.erase(at);
    --retired;
  }
}

std::shared_ptr<ChunkTree> DatasetTree::TreeAt(std::uint32_t ordinal) const {
  const std::shared_lock lock(mutex_);
  const auto found = trees_.find(ordinal);
  return found == trees_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<ChunkTree>> DatasetTree::trees() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<ChunkTree>> all;
  for (const auto& [ordinal, tree] : trees_) all.push_back(tree);
  return all;
}

std::vector<FoundDataset> DatasetTree::found() const {
  const std::shared_lock lock(mutex_);
  std::vector<FoundDataset> all;
  for (const auto& [path, contribution] : contributions_) {
    all.insert(all.end(), contribution->found.begin(), contribution->found.end());
  }
  return all;
}

}  // namespace unshard
