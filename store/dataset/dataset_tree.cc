#include "store/dataset/dataset_tree.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "codec/array/document_names.h"
#include "codec/core/text.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "store/chunks/alias_tree.h"
#include "store/dataset/found_dataset.h"
#include "store/dataset/layout.h"
#include "store/dataset/plain_datasets.h"
#include "store/dataset/view_coverage.h"
#include "store/dataset/view_source.h"
#include "store/object/log.h"
#include "store/source/all_views.h"
#include "store/source/writable_views.h"

namespace unshard {
namespace {

// A directory with more entries than this is data, not a place to search for datasets.
constexpr std::size_t kMaxSearchedEntries = 100000;

// Whether the chunks of an array are presented in a directory below this one.
bool IsAbove(const std::string& directory, const std::vector<Presentation::Chunks>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [&](const Presentation::Chunks& each) {
    const std::string& at = each.tree->directory();
    return at != directory && IsAtOrBelow(at, directory);
  });
}

}  // namespace

DatasetTree::DatasetTree(std::shared_ptr<ObjectStore> store, std::shared_ptr<ChangeWatcher> watcher,
                         std::shared_ptr<IndexCache> cache, std::shared_ptr<ChunkReader> reader,
                         const DatasetTreeOptions& options)
    : store_(std::move(store)),
      watcher_(std::move(watcher)),
      options_(options),
      freshness_(store_, watcher_, options.shards),
      stored_({store_, watcher_, std::move(cache), std::move(reader), options.written,
               options.shards, options.morton, options.max_chunk_bytes,
               shares_trees() || options.view == &NativeView()}),
      tree_parts_{[this] { return stored_.NextOrdinal(); },
                  options.encoded,
                  options.max_chunk_bytes,
                  store_->capabilities(),
                  options.view_options,
                  options.written,
                  options.lossy,
                  store_->Describe("")} {}

Status DatasetTree::Discover() {
  UNSHARD_ASSIGN_OR_RETURN(const auto root, store_->Stat("", CallerDeadline()));
  if (!root) return Fail(ErrorCode::kNotFound, store_->Describe(""), ": no such directory");
  std::deque<std::string> pending{""};
  std::size_t searched = 0;
  bool any = false;
  ViewCoverage coverage;
  while (!pending.empty() && searched < options_.max_directories) {
    const std::string path = pending.front();
    pending.pop_front();
    if (index_.IsBelowOpaque(path) || IsLevel(path)) continue;
    const auto contribution = Examine(path, Reason::kSearch);
    ++searched;
    coverage.Note(ViewRootOf(path), ViewAt(path), path, *contribution);
    for (const FoundDataset& found : contribution->found) {
      any = true;
      if (!found.fault) continue;
      if (path.empty()) return tl::unexpected<Error>(*found.fault);
      LogWarning(found.fault->message);
    }
    const auto overlay = contribution->overlays.find(path);
    if (overlay != contribution->overlays.end() && overlay->second.opaque) continue;
    std::size_t entries = 0;
    std::set<std::string, std::less<>> below;  // a service may name one on each page
    const Status listed = store_->List(path, CallerDeadline(), [&](const ListEntry& entry) {
      if (entry.kind == ObjectInfo::Kind::kDirectory && below.emplace(entry.name).second) {
        pending.push_back(JoinPath(path, entry.name));
      }
      return ++entries < kMaxSearchedEntries;
    });
    if (!listed && path.empty()) return listed;
    if (!listed)
      LogWarning(listed.error().message +
                 "; datasets below it are found when they are opened by name");
    if (entries == kMaxSearchedEntries) {
      LogWarning(store_->Describe(path) + ": has more than " + std::to_string(entries) +
                 " entries; other directories in it are searched when they are opened");
    }
  }
  refused_ = coverage.refused();
  if (any && coverage.is_none()) return tl::unexpected<Error>(refused_.begin()->second);
  if (any) return {};
  const std::string directories =
      std::to_string(searched) + (searched == 1 ? " directory" : " directories");
  if (!pending.empty()) {
    LogWarning(store_->Describe("") + ": no dataset in the first " + directories +
               "; others are searched when they are opened");
    return {};
  }
  return Fail(ErrorCode::kNotFound, store_->Describe(""),
              ": no dataset found: looked for info (precomputed), zarr.json (Zarr v3), .zarray and "
              ".zgroup (Zarr v2) and attributes.json (N5) in ",
              directories);
}

DatasetTree::ContributionPtr DatasetTree::GoodBefore(const std::string& path) const {
  const auto before = index_.ContributionAt(path);
  return before && !before->found.empty() && !before->has_fault() ? before : nullptr;
}

// Where only attributes changed the trees stay, with their generations and all that is cached.
Result<std::shared_ptr<ShardedTree>> DatasetTree::KeepOrMake(const ContributionPtr& before,
                                                             const StoredTrees::StoredAs& stored,
                                                             const StoredTrees::Make& make) {
  if (shares_trees()) return stored_.Share(stored, make);
  if (!before) return make();
  const auto same =
      std::find_if(before->trees.begin(), before->trees.end(), [&](const ServedTree& old) {
        return old.stored->directory() == stored.directory && SameJson(old.layout, stored.layout);
      });
  return same == before->trees.end() ? make() : same->stored;
}

std::shared_ptr<ChunkTree> DatasetTree::AliasIn(const std::string& view,
                                                const std::shared_ptr<ShardedTree>& stored) {
  if (view == kViewOfShards) return stored;
  const std::string below(SplitView(stored->directory()).path);
  return std::make_shared<AliasTree>(stored_.NextOrdinal(), JoinPath(view, below), stored);
}

std::string DatasetTree::StoredDirectory(const std::string& directory) const {
  if (!shares_trees()) return directory;
  return JoinPath(std::string(kViewOfShards), SplitView(directory).path);
}

DatasetTree::ContributionPtr DatasetTree::Examine(const std::string& path, Reason reason) {
  const PathLocks::Guard guard(examining_, path);
  return ExamineLocked(path, reason);
}

void DatasetTree::ExamineOnce(const std::string& path) {
  const PathLocks::Guard guard(examining_, path);
  if (!index_.ContributionAt(path)) ExamineLocked(path, Reason::kUse);
}

// Nothing announces changes of some directories: these are looked at again.
void DatasetTree::Revalidate(const std::string& path) {
  if (freshness_.IsGood(path) || !index_.ContributionAt(path)) return;
  const PathLocks::Guard guard(examining_, path);
  if (freshness_.IsGood(path)) return;  // another thread has looked
  const bool as_stored = &ViewAt(path) == &NativeView();
  const std::span<const std::string_view> shards = kShardDocuments, all = kMetadataNames;
  const auto up_to_date = freshness_.IsUpToDate(path, as_stored ? shards : all);
  if (up_to_date.value_or(true)) return;
  const auto before = index_.ContributionAt(path);
  NoteChange(path, before, ExamineLocked(path, Reason::kUse));
}

DatasetTree::ContributionPtr DatasetTree::ExamineLocked(const std::string& path, Reason reason) {
  auto contribution = std::make_shared<Contribution>();
  const auto seen = freshness_.Look(path, reason == Reason::kUse);
  DirectoryDocuments documents(*store_, path, options_.catalog.get());
  const auto read = [&](const char* name, auto&& parse) {
    const auto& object = documents.Read(name);
    Status status;
    ObjectInfo source;
    if (!object) {
      status = tl::unexpected<Error>(object.error());
      // A store that does not answer is not asked once more.
      const bool answers = object.error().code != ErrorCode::kUnavailable;
      const auto unreadable = answers ? store_->Stat(JoinPath(path, name), CallerDeadline())
                                      : Result<std::optional<ObjectInfo>>();
      if (unreadable && *unreadable) source = **unreadable;
      // A dataset, or anything else, of that name: only a file is a document.
      if (source.kind == ObjectInfo::Kind::kDirectory) return;
      // Any look may find that it can be read, unless its bytes are what fails.
      const bool of_version = IsOfVersion(object.error());
      of_version ? void(contribution->documents[name] = source) : void(source = {});
    } else if (*object) {
      source = (*object)->info;
      contribution->documents[name] = source;
      if (watcher_) watcher_->Watch(path);
      status = parse(**object);
    }
    if (status) return;
    AddFault(path, name, source, status.error(), *contribution);
  };
  if (!PresentsAsStored(documents)) {
    const auto presented = ReadForView(documents, *contribution);
    if (!presented) AddViewFault(path, presented.error(), *contribution);
    if (!presented || *presented) return PutExamined(path, seen, std::move(contribution));
  }
  read("info",
       [&](const WholeObject& object) { return ReadPrecomputed(path, object, *contribution); });
  read("zarr.json",
       [&](const WholeObject& object) { return ReadZarr(path, object, *contribution); });
  if (contribution->found.empty()) AddPlainDataset(path, documents, *contribution);
  return PutExamined(path, seen, std::move(contribution));
}

DatasetTree::ContributionPtr DatasetTree::PutExamined(const std::string& path,
                                                      const DocumentFreshness::Seen& seen,
                                                      std::shared_ptr<Contribution> contribution) {
  if (options_.catalog) AddToCatalog(path, *contribution);
  const bool was_read =
      !contribution->has_fault() || IsOfVersion(*contribution->found.front().fault);
  was_read ? freshness_.Note(path, seen, contribution->documents) : freshness_.Forget(path);
  const auto known = index_.ContributionAt(path);
  if (known && !known->has_fault() && contribution->has_fault()) {
    // A writer that writes in place shows half a document for a moment.
    warnings_.Warn(path, contribution->found.front().fault->message +
                             (known->found.empty() ? "; the directory is shown as it is stored"
                                                   : "; the earlier metadata stay in use"));
    return known;
  }
  warnings_.Over(path);
  AddVirtualChildren(path, *contribution);
  index_.Put(path, contribution);
  return contribution;
}

// Chunks are below the directories that the documents describe, and no datasets.
void DatasetTree::AddToCatalog(const std::string& path, const Contribution& contribution) {
  for (const auto& [directory, overlay] : contribution.overlays) {
    const bool described = directory == path;  // as its document says
    if (overlay.opaque && !described) options_.catalog->SetDataDirectory(directory, {});
  }
}

void DatasetTree::AddFault(const std::string& path, const std::string& name,
                           const ObjectInfo& source, const Error& error, Contribution& to) const {
  Error fault = error;
  const std::string document = store_->Describe(JoinPath(path, name));
  // Failures of the store, and of documents of levels, name the document already.
  const std::string inside = document.substr(0, document.size() - name.size());
  if (!fault.message.starts_with(inside)) fault = std::move(fault).Annotate(document);
  DirectoryOverlay broken;
  broken.fault = fault;
  broken.opaque = true;
  broken.document = Document{name, nullptr, source};
  to.trees.clear();
  to.overlays.clear();
  to.overlays[path] = broken;
  FoundDataset found;
  found.path = path;
  found.format = "broken dataset";
  found.fault = fault;
  to.found = {found};
}

// The document whose change makes the directory worth another look.
void DatasetTree::AddViewFault(const std::string& path, const Error& error,
                               Contribution& to) const {
  Document document;  // without a name any look may find that it can be read
  for (const std::string_view name : kMetadataNames) {
    const auto info = store_->Stat(JoinPath(path, name), CallerDeadline());
    if (!info || !*info || (*info)->kind == ObjectInfo::Kind::kDirectory) continue;
    to.documents[std::string(name)] = **info;
    // What a view makes of a group of Zarr v2 stands in its attributes.
    const bool first = document.name.empty() || (document.name == ".zgroup" && name == ".zattrs");
    if (first && IsOfVersion(error)) document = {std::string(name), nullptr, **info};
  }
  AddFault(path, document.name, document.source, error, to);
}

Status DatasetTree::ReadPrecomputed(const std::string& path, const WholeObject& object,
                                    Contribution& to) {
  auto info = ParseNeuroglancerInfo(object.text);
  if (!info) {
    // A file called "info" that is no JSON object belongs to another program.
    const auto document = ParseJson(object.text);
    const bool ours = path.empty() || (document && document->is_object()) || GoodBefore(path);
    if (!ours) return {};
    return tl::unexpected<Error>(info.error());
  }
  if (info->type == NeuroglancerInfo::Type::kOther) return AddOtherInfo(path, object.text, to);
  to.structure = object.text;
  to.overlays.try_emplace(path);
  StoredDataset dataset{path, "info", info->unsharded_text, {}, {}, {}};
  std::vector<std::string> layouts;
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
  const auto add = [&](const FoundDataset& found) {
    // Meshes and skeletons lie in the directory of their document: they are what it describes.
    const bool is_document = found.path == path && found.shape.empty();
    is_document ? void(to.found.front() = found) : to.found.push_back(found);
  };
  const ContributionPtr before = GoodBefore(path);
  for (const ShardedDirectory& sharded : info->sharded) {
    const auto directory = ResolvePath(path, sharded.directory);
    if (!directory) {
      return Fail(ErrorCode::kPermissionDenied, sharded.json_path, ": the directory ",
                  sharded.directory,
                  " is outside the mounted source; mount a directory that holds both");
    }
    layouts.push_back(WriteJson(sharded.layout, 0));
    const std::string stored = StoredDirectory(*directory);
    UNSHARD_ASSIGN_OR_RETURN(const auto tree,
                             KeepOrMake(before, {stored, layouts.back(), layouts.back()},
                                        [&] { return stored_.OpenPrecomputed(stored, sharded); }));
    dataset.arrays.push_back(tree);
    to.overlays[*directory].opaque |= *directory != path;
    const bool scale = sharded.names == ShardedDirectory::Names::kChunkRanges;
    const std::string format = scale ? "precomputed scale" : std::string(NameOf(info->type));
    FoundDataset found = FoundArray(*directory, format + ", sharded", sharded.array);
    if (!scale) found.description = sharded.description;
    found.tree = tree;
    add(found);
  }
  return Present(dataset, layouts, object, to);
}

Status DatasetTree::ReadZarr(const std::string& path, const WholeObject& object, Contribution& to) {
  UNSHARD_ASSIGN_OR_RETURN(ZarrNode node, ParseZarrMetadata(object.text));
  DirectoryOverlay& here = to.overlays[path];
  StoredDataset dataset{path, "zarr.json", node.unsharded_text, {}, {}, {}};
  for (const std::string& warning : node.warnings) {
    LogWarning(store_->Describe(JoinPath(path, "zarr.json")) + ": " + warning);
  }
  FoundDataset found;
  found.path = path;
  found.format = node.type == ZarrNode::Type::kGroup ? "zarr v3 group" : "zarr v3 array";
  const ArrayDescription array = Describe(node.array);
  found.data_type = array.data_type;
  found.encoding = array.encoding;
  found.shape = array.shape;
  found.chunk_shape = array.chunk_shape;
  if (node.type == ZarrNode::Type::kArray) {
    here.opaque = true;
    found.description = found.data_type + " " + ShapeText(found.shape) + ", chunks " +
                        ChunksText(found) + ", " + found.encoding;
    to.structure = node.layout;
  }
  if (node.sharded) {
    found.format = "zarr v3 array, sharded";
    found.shard_shape = node.array.shard_shape.value_or(std::vector<std::uint64_t>());
    found.description += found.shard_shape.empty() && node.array.rank() > 0
                             ? ", in shards of several shapes"
                             : ", in shards of " + ShapeText(found.shard_shape);
    const std::string stored = StoredDirectory(path);
    const auto make = [&] { return stored_.OpenZarr(stored, *node.sharded); };
    UNSHARD_ASSIGN_OR_RETURN(
        found.tree, KeepOrMake(GoodBefore(path), {stored, node.layout, node.layout}, make));
    dataset.arrays.push_back(found.tree);
  }
  to.found.push_back(found);
  return Present(dataset, {node.layout}, object, to);
}

std::string DatasetTree::ViewRootOf(const std::string& path) const {
  return options_.view != nullptr ? std::string() : std::string(SplitView(path).view);
}

const View& DatasetTree::ViewAt(const std::string& path) const {
  if (options_.view != nullptr) return *options_.view;
  const View* const view = FindView(SplitView(path).view);
  return view != nullptr ? *view : NativeView();
}

bool DatasetTree::PresentsAsStored(DirectoryDocuments& documents) const {
  const View& view = ViewAt(documents.directory());
  if (std::all_of(kDialects.begin(), kDialects.end(),
                  [&](Dialect each) { return view.PresentsAsStored(each); })) {
    return true;
  }
  const auto dialect = DialectOf(documents);
  return dialect && view.PresentsAsStored(*dialect) &&
         !HasOtherOmeVersion(documents, options_.view_options.ome);
}

std::vector<std::shared_ptr<ShardedTree>> DatasetTree::StoredIn(const std::string& shown) {
  const std::string directory = StoredDirectory(shown);
  auto trees = index_.StoredIn(directory);
  if (!trees.empty()) return trees;
  // Opened by one thread, so that all write to one tree. No directory that is examined ends so.
  const PathLocks::Guard guard(examining_, directory + "/");
  trees = index_.StoredIn(directory);
  for (std::string at = directory; trees.empty(); at = ParentPath(at)) {
    const auto source = ReadViewSource(*store_, at, options_.catalog.get());
    const std::size_t levels = source && *source ? (*source)->levels.size() : 0;
    for (std::size_t i = 0; i < levels && trees.empty(); ++i) {
      const ViewSource::Level& level = (*source)->levels[i];
      const bool plain = !level.precomputed_shards && !level.zarr_shards;
      if (!plain || level.directory != directory) continue;
      const auto tree = stored_.OpenLevel(level, (*source)->dataset.levels[i].array);
      if (!tree) break;
      index_.PutStored(*tree, at);
      trees.push_back(*tree);
    }
    if (at.empty()) break;
  }
  return trees;
}

// Where a view presents a dataset in another form, its directory has nothing but what the view
// presents there; in a group other directories are searched as well.
Result<bool> DatasetTree::ReadForView(DirectoryDocuments& documents, Contribution& to) {
  const std::string& path = documents.directory();
  UNSHARD_ASSIGN_OR_RETURN(const auto source, ReadViewSource(documents));
  if (!source) return false;
  if (watcher_) watcher_->Watch(path);
  to.documents = source->documents;
  to.structure = source->text;
  to.found = FoundIn(path, *source);
  DirectoryOverlay& here = to.overlays[path];
  const bool alone = source->dataset.kind == SourceDataset::Kind::kArray;
  here.closed = source->closed && (alone || !ViewAt(path).KeepsFormat());
  here.opaque = here.closed;
  here.hidden = source->hidden;
  StoredDataset dataset{path, source->document, {}, {}, source->dataset, ViewRootOf(path)};
  std::vector<std::string> layouts;
  for (std::size_t i = 0; i < source->levels.size(); ++i) {
    ViewSource::Level level = source->levels[i];
    level.directory = StoredDirectory(level.directory);
    layouts.push_back(level.layout);
    UNSHARD_ASSIGN_OR_RETURN(
        const auto tree,
        KeepOrMake(GoodBefore(path), {level.directory, level.layout, level.stored_layout},
                   [&] { return stored_.OpenLevel(level, source->dataset.levels[i].array); }));
    dataset.arrays.push_back(tree);
    const std::string& directory = source->levels[i].directory;
    DirectoryOverlay& stored = to.overlays[directory];
    stored.closed = true;
    stored.opaque |= directory != path;
    // Beside the level is what the source has there.
    if (directory != path) to.overlays[ParentPath(directory)].hidden.insert(BaseName(directory));
    if (watcher_) watcher_->Watch(level.directory);
  }
  AddStoredTrees(dataset, *source, to.found);
  UNSHARD_RETURN_IF_ERROR(Present(dataset, layouts, {source->text, source->info}, to));
  return true;
}

Status DatasetTree::Present(const StoredDataset& dataset, const std::vector<std::string>& layouts,
                            const WholeObject& object, Contribution& to) {
  UNSHARD_ASSIGN_OR_RETURN(Presentation shown, ViewAt(dataset.path).Present(dataset, tree_parts_));
  for (const std::string& warning : shown.warnings) {
    LogWarning(store_->Describe(dataset.path) + ": " + warning);
  }
  for (Presentation::Document& document : shown.documents) {
    const bool as_stored = document.directory == dataset.path &&
                           document.name == dataset.document && document.text == object.text;
    if (as_stored) continue;
    if (dataset.source) {
      DirectoryOverlay& overlay = to.overlays[document.directory];
      // In the root of a view, and in a group between a dataset and its levels, are other datasets
      // as well.
      const bool is_between = IsAbove(document.directory, shown.chunks);
      overlay.closed |= document.directory != dataset.path &&
                        document.directory != dataset.view_root && !is_between;
      overlay.computed.push_back(
          Document{document.name, std::make_shared<const std::string>(std::move(document.text)),
                   object.info, is_between && document.directory != dataset.path});
      continue;
    }
    to.overlays[document.directory].document = Document{
        document.name, std::make_shared<const std::string>(std::move(document.text)), object.info};
  }
  const ContributionPtr before = GoodBefore(dataset.path);
  for (Presentation::Chunks& chunks : shown.chunks) {
    if (shares_trees() && chunks.tree == chunks.stored) {
      chunks.tree = AliasIn(ViewRootOf(dataset.path), chunks.stored);
    }
    ServedTree served{std::move(chunks.tree), std::move(chunks.stored), {}};
    for (std::size_t i = 0; i < dataset.arrays.size(); ++i) {
      if (dataset.arrays[i] == served.stored) served.layout = layouts[i];
    }
    for (std::size_t i = 0; before && i < before->trees.size(); ++i) {
      const ServedTree& old = before->trees[i];
      const bool same = old.stored == served.stored && SameJson(old.layout, served.layout) &&
                        old.tree->directory() == served.tree->directory();
      if (same) served.tree = old.tree;
    }
    DirectoryOverlay& overlay = to.overlays[served.tree->directory()];
    overlay.trees.push_back(served.tree);
    overlay.opaque |= dataset.source.has_value();
    to.trees.push_back(std::move(served));
  }
  return {};
}

// Where a view presents it, a level is examined with its pyramid.
bool DatasetTree::IsLevel(const std::string& path) const {
  const auto overlay = index_.OverlayAt(path);
  return overlay && overlay->opaque && overlay->closed && !index_.ContributionAt(path);
}

std::string DatasetTree::OwnerOf(const std::string& path) const {
  for (std::string at = path; !at.empty();) {
    at = ParentPath(at);
    const auto above = index_.ContributionAt(at);
    if (!above) continue;
    const std::string below = path.substr(at.empty() ? 0 : at.size() + 1);
    for (const auto& [name, read] : above->documents) {
      if (ParentPath(name) == below) return at;
    }
  }
  return path;
}

std::shared_ptr<const DirectoryOverlay> DatasetTree::Find(const std::string& path) {
  for (std::string at = path; Revalidate(at), !at.empty();) at = ParentPath(at);
  const bool examined = index_.ContributionAt(path) != nullptr;
  const auto overlay = index_.OverlayAt(path);
  if (overlay && overlay->fault) {
    const Document& broken = *overlay->document;
    const auto same = IsVersion(*store_, JoinPath(path, broken.name), broken.source);
    if (same.value_or(true)) return overlay;
    Examine(path, Reason::kUse);
    return index_.OverlayAt(path);
  }
  if (examined) return overlay;
  if (overlay && (overlay->opaque || !overlay->trees.empty())) return overlay;
  if (index_.IsBelowOpaque(path)) return overlay;
  ExamineOnce(path);
  return index_.OverlayAt(path);
}

bool DatasetTree::HoldsPlainDocument(const std::string& path) {
  const std::string name = BaseName(path);
  if (!IsDocumentName(name)) return false;
  const std::string directory = ParentPath(path);
  const auto overlay = Find(directory);
  if (overlay && overlay->fault) return false;
  if (overlay && overlay->document && overlay->document->name == name) return false;
  if (overlay && overlay->opaque && !HasPlainDocument(directory, name)) return false;
  return !index_.IsBelowOpaque(directory);
}

bool DatasetTree::HasPlainDocument(const std::string& path, std::string_view name) {
  const auto found = index_.ContributionAt(path);
  return found && !found->found.empty() && found->trees.empty() &&
         found->documents.contains(std::string(name));
}

Result<bool> DatasetTree::IsUpToDate(const std::string& path) const {
  return AreVersions(*store_, path, index_.ContributionAt(path)->documents);
}

bool DatasetTree::Reload(const std::string& directory) {
  const std::string path = OwnerOf(directory);
  const auto before = index_.ContributionAt(path);
  NoteChange(directory, before, Examine(path, Reason::kUse));
  return freshness_.IsRead(path);
}

void DatasetTree::NoteChange(const std::string& directory, const ContributionPtr& before,
                             const ContributionPtr& after) {
  if (before && before->structure == after->structure) return;
  const std::lock_guard lock(changed_mutex_);
  changed_.insert(directory);
}

bool DatasetTree::TakeChange(const std::string& path) {
  const std::lock_guard lock(changed_mutex_);
  return changed_.erase(path) != 0;
}

Result<bool> DatasetTree::Serves(const ChunkTree& tree) {
  const auto home = index_.HomeOf(tree);
  if (tree.retired() || !home) return false;
  if (!index_.ContributionAt(*home)) return true;  // nothing there is presented in another form
  UNSHARD_ASSIGN_OR_RETURN(const bool as_read, IsUpToDate(*home));
  if (as_read) return true;
  Reload(*home);
  if (tree.retired()) return false;
  UNSHARD_ASSIGN_OR_RETURN(const bool now, IsUpToDate(*home));
  if (now) return true;
  return Fail(
      ErrorCode::kUnavailable, store_->Describe(*home),
      ": its metadata are being changed, or are broken: chunks wait until they can be read");
}

}  // namespace unshard
