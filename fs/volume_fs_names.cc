// Names of a writable mount: what a name stands for to who creates, renames, links or removes it.
#include <algorithm>
#include <cerrno>

#include "codec/chunk_key.h"
#include "fs/control_files.h"
#include "fs/request_failures.h"
#include "fs/volume_fs.h"
#include "store/log.h"

namespace unshard {
namespace {

Error StaleNode() { return Error{ErrorCode::kConflict, "the directory is gone", 0}; }

// "<chunk>.br": a chunk of this tree, compressed in a way that no shard takes.
bool IsChunkWithSuffix(const ChunkTree& tree, std::string_view name) {
  const auto bare = WithoutCompressionSuffix(name);
  return bare && tree.Resolve({}, *bare).kind == ChunkTree::Match::Kind::kChunk;
}

}  // namespace

std::string VolumeFs::PathOfDirectory(const std::shared_ptr<ChunkTree>& tree,
                                      const GridDirectory& in) const {
  return JoinPath(tree->directory(), tree->Path(in));
}

Result<VolumeFs::Place> VolumeFs::PlaceOf(NodeId parent, std::string_view name) {
  Place place;
  place.parent = parent;
  place.name = name;
  if (const auto grid = UnpackGridNode(parent)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return tl::unexpected<Error>(StaleNode());
    return PlaceInTree(std::move(place), tree, tree->AtPosition(grid->position).directory);
  }
  const TablePtr node = nodes_.Get(parent);
  if (!node) return tl::unexpected<Error>(StaleNode());
  if (const auto* in = std::get_if<GridDirectoryTarget>(&node->target)) {
    return PlaceInTree(std::move(place), in->tree, in->directory);
  }
  if (const auto* directory = std::get_if<DirectoryTarget>(&node->target)) {
    return PlaceInDirectory(std::move(place), *directory);
  }
  place.directory = std::string(kControlDirectory);
  return place;
}

Result<VolumeFs::Place> VolumeFs::PlaceInTree(Place place, const std::shared_ptr<ChunkTree>& tree,
                                              const GridDirectory& in) {
  place.directory = PathOfDirectory(tree, in);
  place.tree = tree;
  const ChunkTree::Match match = tree->Resolve(in, place.name);
  switch (match.kind) {
    case ChunkTree::Match::Kind::kChunk:
      place.kind = Place::Kind::kChunk;
      place.chunk = match.chunk;
      place.gzipped = match.chunk.part == ChunkPart::kStored;
      place.grid = in;
      return place;
    case ChunkTree::Match::Kind::kDirectory:
      place.kind = Place::Kind::kGridDirectory;
      place.grid = match.directory;
      return place;
    case ChunkTree::Match::Kind::kNoChunk:
      place.kind = Place::Kind::kNoChunk;
      if (tree->TakesGzipNames() && place.name.ends_with(".gz")) {
        const auto bare = tree->Resolve(in, place.name.substr(0, place.name.size() - 3));
        if (bare.kind == ChunkTree::Match::Kind::kChunk) {
          place.kind = Place::Kind::kChunk;
          place.chunk = {bare.chunk.slot, ChunkPart::kStored};
          place.gzipped = true;
        }
      }
      return place;
    case ChunkTree::Match::Kind::kOther:
      break;
  }
  place.kind = Place::Kind::kScratch;
  return place;
}

Result<VolumeFs::Place> VolumeFs::PlaceInDirectory(Place place, const DirectoryTarget& directory) {
  place.directory = directory.path;
  if (directory.path.empty() && place.name == kControlDirectory) return place;
  place.kind = Place::Kind::kSource;
  place.plain_group = IsPlainGroup(place.path()) && !directory.opaque;
  const auto overlay = directory.opaque ? nullptr : parts_.datasets->Find(directory.path);
  if (!overlay) return place;
  if (overlay->fault) return tl::unexpected<Error>(*overlay->fault);
  if (overlay->document && overlay->document->name == place.name) {
    place.kind = Place::Kind::kDocument;
    return place;
  }
  bool scratch = false;
  std::optional<Place> no_chunk;
  for (const auto& tree : overlay->trees) {
    UNSHARD_ASSIGN_OR_RETURN(Place in_tree, PlaceInTree(place, tree, {}));
    in_tree.directory = directory.path;
    if (in_tree.kind == Place::Kind::kNoChunk) {
      // What is no chunk of this tree may be one that is a file of the source.
      if (!overlay->holds_plain_chunks || IsChunkWithSuffix(*tree, place.name)) {
        no_chunk = std::move(in_tree);
      }
    } else if (in_tree.kind != Place::Kind::kScratch) {
      return in_tree;
    }
    // Where chunks stand one level deeper, this is a directory like any other, and so is one in
    // which programs rename their temporary files onto files of the source.
    scratch =
        scratch || (tree->HoldsScratch() && tree->depth() == 0 && !overlay->holds_plain_chunks);
  }
  if (no_chunk) return *std::move(no_chunk);
  const bool shard = std::any_of(overlay->trees.begin(), overlay->trees.end(),
                                 [&](const auto& t) { return t->IsShardKey(place.name); });
  if (shard) {
    place.kind = Place::Kind::kForbidden;
    return place;
  }
  if (scratch && !scratch_.Find(directory.path, place.name) && !IsHidden(*overlay, place.name)) {
    // What stands there already is a file of the source; a lock file of our own is nobody's.
    UNSHARD_ASSIGN_OR_RETURN(const auto there, parts_.files->Stat(place.path()));
    scratch = !there.has_value();
  }
  if (scratch) place.kind = Place::Kind::kScratch;
  return place;
}

tl::unexpected<Error> VolumeFs::Refuse(const Place& place) {
  switch (place.kind) {
    case Place::Kind::kNoChunk:
      return Fail(
          ErrorCode::kInvalidArgument,
          place.path() + ": is shaped like the name of a chunk, and the grid has no such chunk");
    case Place::Kind::kGridDirectory:
      return FailWith(EISDIR, ErrorCode::kInvalidArgument, place.path() + ": is a directory");
    case Place::Kind::kDocument:
      return FailWith(EPERM, ErrorCode::kPermissionDenied,
                      place.path() + ": metadata of a sharded dataset stay where they are");
    default:
      return FailWith(EPERM, ErrorCode::kPermissionDenied,
                      place.path() + ": this name belongs to the mount");
  }
}

Result<VolumeFs::Created> VolumeFs::Create(NodeId parent, std::string_view name,
                                           const OpenRequest& request) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  switch (place.kind) {
    case Place::Kind::kChunk:
      return CreateChunk(place, request);
    case Place::Kind::kScratch:
      return CreateScratch(place, request);
    case Place::Kind::kSource:
      return CreateInSource(place, request);
    default:
      return Refuse(place);
  }
}

Result<VolumeFs::Created> VolumeFs::CreateChunk(const Place& place, const OpenRequest& request) {
  const ChunkId id = ChunkId::Of(*place.tree, place.chunk);
  if (request.exclusive) {
    UNSHARD_ASSIGN_OR_RETURN(const ContentPtr there, writes_->Current(place.tree, place.chunk));
    if (there || writers_.HasWriter(id)) {
      return FailWith(EEXIST, ErrorCode::kInvalidArgument, place.path() + ": is being written");
    }
  }
  streaks_.Wrote(request.thread, id);
  UNSHARD_ASSIGN_OR_RETURN(const auto staged, StageChunk(place, request.truncate));
  const bool fresh =
      !writers_.HasWriter(id) && staged->size() == 0 && !place.gzipped && !parts_.written->Find(id);
  std::optional<Entry> entry;
  if (fresh) entry = ReferArithmetic(place.tree, place.chunk);
  if (entry) {
    staged->SetNode(entry->node);
    entry = AttributesOfStaged(entry->node, staged);
  } else {
    entry = ReferStaged(staged);
  }
  OpenFilePtr file = OpenOn(staged, entry->node, request);
  staged->LetGo();
  return Created{*entry, std::move(file)};
}

Result<VolumeFs::Created> VolumeFs::CreateScratch(const Place& place, const OpenRequest& request) {
  UNSHARD_RETURN_IF_ERROR(writes_->WaitForRoom());
  auto staged = scratch_.Find(place.directory, place.name);
  if (staged && request.exclusive) {
    return FailWith(EEXIST, ErrorCode::kInvalidArgument, place.path() + ": exists");
  }
  if (!staged) {
    const std::uint64_t number = ++next_staged_;
    staged = std::make_shared<StagedInode>(
        writes_->spool(), StagedInode::Scratch{}, nullptr,
        StableInode("scratch:" + std::to_string(number) + ':' + place.path()));
    if (!scratch_.Add(place.directory, place.name, staged)) {
      staged = scratch_.Find(place.directory, place.name);
    }
  }
  if (!staged) return tl::unexpected<Error>(StaleNode());
  const Entry entry = ReferStaged(staged);
  OpenFilePtr file = OpenOn(staged, entry.node, request);
  if (!file) return tl::unexpected<Error>(StaleNode());
  return Created{entry, std::move(file)};
}

Status VolumeFs::MustBeNew(const Place& place) {
  bool there = false;
  switch (place.kind) {
    case Place::Kind::kChunk: {
      UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now, writes_->Current(place.tree, place.chunk));
      there = now != nullptr;
      break;
    }
    case Place::Kind::kScratch:
      there = scratch_.Find(place.directory, place.name) != nullptr;
      break;
    case Place::Kind::kSource: {
      UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(place.path()));
      there = status.has_value();
      break;
    }
    default:
      there = true;
  }
  if (!there) return {};
  return FailWith(EEXIST, ErrorCode::kInvalidArgument, place.path() + ": exists");
}

// Commits a staged file under another name: a put of that chunk, or of that document.
Status VolumeFs::PutOnto(const std::shared_ptr<StagedInode>& staged, const Place& to,
                         bool replace) {
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew(to));
  const StagedInode::Purpose before = staged->purpose();
  StagedInode::Purpose after = StagedInode::Document{to.directory, to.name, to.plain_group};
  if (to.kind == Place::Kind::kChunk) {
    if (const Status can = ChunkWrites::CanWrite(*to.tree); !can) {
      return Fail(ErrorCode::kReadOnly, can.error().message);
    }
    after = StagedInode::Chunk{to.tree, to.chunk, to.gzipped};
  }
  ChangePurpose(staged, std::move(after));
  if (const Status committed = CommitStaged(*staged, nullptr); !committed) {
    ChangePurpose(staged, before);
    return committed;
  }
  if (to.gzipped) DropBareName(*to.tree, to.chunk);
  return {};
}

// Who has it open for writing goes on writing to what it has become.
void VolumeFs::ChangePurpose(const std::shared_ptr<StagedInode>& staged,
                             StagedInode::Purpose purpose) {
  const std::lock_guard lock(staged->counting());
  const auto before = WriterId(*staged);
  staged->SetPurpose(std::move(purpose));
  const auto after = WriterId(*staged);
  for (std::uint64_t i = staged->writers(); i > 0; --i) {
    if (before) writers_.Leave(*before, staged);
    if (after) writers_.Enter(*after, staged);
  }
}

Status VolumeFs::RenameScratch(const Place& from, const Place& to, bool replace) {
  const auto staged = scratch_.Find(from.directory, from.name);
  if (!staged) return FailWith(ENOENT, ErrorCode::kNotFound, from.path() + ": is gone");
  switch (to.kind) {
    case Place::Kind::kScratch:
      if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew(to));
      scratch_.Rename(from.directory, from.name, to.directory, to.name);
      return {};
    case Place::Kind::kChunk:
    case Place::Kind::kDocument:
      UNSHARD_RETURN_IF_ERROR(PutOnto(staged, to, replace));
      scratch_.Remove(from.directory, from.name);
      if (staged->opens() == 0) EndStaged(staged);
      return {};
    case Place::Kind::kSource:
      return FailWith(EXDEV, ErrorCode::kNotSupported,
                      to.path() + ": scratch files become chunks, or are copied");
    default:
      return Refuse(to);
  }
}

Status VolumeFs::RenameChunk(const Place& from, const Place& to, bool replace) {
  const bool same_array =
      to.kind == Place::Kind::kChunk && to.tree == from.tree && to.gzipped == from.gzipped &&
      (to.chunk.part == ChunkPart::kFragments) == (from.chunk.part == ChunkPart::kFragments);
  if (to.kind == Place::Kind::kNoChunk) return Refuse(to);
  if (!same_array) {
    return FailWith(EXDEV, ErrorCode::kNotSupported,
                    from.path() + ": a chunk is moved out of its array by copying");
  }
  if (to.chunk == from.chunk) return {};
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew(to));
  ChunkRef chunk = from.chunk;
  if (chunk.part == ChunkPart::kStored) chunk.part = ChunkPart::kPlain;
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content, writes_->Current(from.tree, chunk));
  if (!content) return FailWith(ENOENT, ErrorCode::kNotFound, from.path() + ": is gone");
  StagedInode copy(writes_->spool(), StagedInode::Chunk{to.tree, to.chunk, false}, content,
                   InodeOfChunk(from.tree, from.chunk));
  // First the new name, then the old one: at no moment is there neither, not even after a power
  // loss, which spares a removal rather than a copy.
  WrittenVersionPtr version;
  UNSHARD_RETURN_IF_ERROR(CommitStaged(copy, &version));
  UNSHARD_RETURN_IF_ERROR(writes_->SyncInSpool(version));
  UNSHARD_RETURN_IF_ERROR(RemoveChunk(from, to.chunk));
  DropName(to);
  return {};
}

Status VolumeFs::Rename(NodeId parent, std::string_view name, NodeId new_parent,
                        std::string_view new_name, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(const Place from, PlaceOf(parent, name));
  UNSHARD_ASSIGN_OR_RETURN(const Place to, PlaceOf(new_parent, new_name));
  switch (from.kind) {
    case Place::Kind::kScratch:
      return RenameScratch(from, to, replace);
    case Place::Kind::kChunk:
      return RenameChunk(from, to, replace);
    case Place::Kind::kSource:
      if (to.kind == Place::Kind::kSource && to.plain_group) {
        return RenameOntoPlainGroup(from, to, replace);
      }
      if (to.kind == Place::Kind::kSource) return RenameInSource(from, to, replace);
      if (to.kind == Place::Kind::kChunk || to.kind == Place::Kind::kDocument) {
        return RenameSourceFileOnto(from, to, replace);
      }
      if (to.kind == Place::Kind::kScratch) {
        return FailWith(EXDEV, ErrorCode::kNotSupported, to.path() + ": is a scratch name");
      }
      return Refuse(to);
    case Place::Kind::kGridDirectory:
      return FailWith(EXDEV, ErrorCode::kNotSupported,
                      from.path() + ": directories of chunks cannot be renamed");
    default:
      return Refuse(from);
  }
}

Result<Entry> VolumeFs::Link(NodeId node, NodeId new_parent, std::string_view new_name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place to, PlaceOf(new_parent, new_name));
  const TablePtr table = UnpackGridNode(node) ? nullptr : nodes_.Get(node);
  if (table && std::holds_alternative<LiveFileTarget>(table->target)) {
    if (to.kind != Place::Kind::kSource) {
      return FailWith(EXDEV, ErrorCode::kNotSupported, to.path() + ": is no file of the source");
    }
    std::string path;
    {
      const std::lock_guard lock(table->mutex);
      path = table->live_path;
    }
    if (to.plain_group) {
      UNSHARD_ASSIGN_OR_RETURN(const bool complete, IsComplete(path, to.directory));
      if (!complete) {
        return FailWith(EPERM, ErrorCode::kPermissionDenied,
                        to.path() + ": embeds copies of sharded arrays, which are stored in " +
                            "another form: write or rename it");
      }
    }
    UNSHARD_RETURN_IF_ERROR(MakeShownDirectory(to.directory));
    UNSHARD_RETURN_IF_ERROR(parts_.files->Link(path, to.path()));
    UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(to.path()));
    if (!status) return tl::unexpected<Error>(StaleNode());
    return ReferLiveFile(to.path(), *status);
  }
  const auto staged = StagedAt(node, table);
  const bool scratch = staged && std::holds_alternative<StagedInode::Scratch>(staged->purpose());
  if (!scratch) {
    return FailWith(EPERM, ErrorCode::kPermissionDenied,
                    to.path() + ": only scratch files can be linked");
  }
  if (to.kind == Place::Kind::kScratch) {
    if (!scratch_.Add(to.directory, to.name, staged)) {
      return FailWith(EEXIST, ErrorCode::kInvalidArgument, to.path() + ": exists");
    }
  } else if (to.kind == Place::Kind::kChunk) {
    // One of those who race for the name wins.
    const std::lock_guard lock(links_mutex_);
    UNSHARD_RETURN_IF_ERROR(PutOnto(staged, to, false));
  } else if (to.kind == Place::Kind::kSource) {
    return FailWith(EXDEV, ErrorCode::kNotSupported, to.path() + ": is no scratch name");
  } else {
    return Refuse(to);
  }
  Entry entry = ReferStaged(staged);
  entry.attributes.links = 2;
  return entry;
}

Status VolumeFs::RemoveChunk(const Place& place, const std::optional<ChunkRef>& moved_to) {
  if (const Status can = ChunkWrites::CanWrite(*place.tree); !can) {
    return Fail(ErrorCode::kReadOnly, can.error().message);
  }
  ChunkWrites::Commit commit;
  commit.tree = place.tree;
  commit.chunk = place.chunk;
  commit.modified = TimeNow();
  commit.moved_to = moved_to;
  const auto removed = writes_->CommitRemoval(commit);
  if (!removed) return tl::unexpected<Error>(removed.error());
  return {};
}

// Once the running request is answered the kernel is to look this name up anew.
void VolumeFs::DropName(const Place& place) {
  if (writing_.drop_entry) writing_.drop_entry(place.parent, place.name);
}

Status VolumeFs::Remove(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  switch (place.kind) {
    case Place::Kind::kChunk: {
      UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now, writes_->Current(place.tree, place.chunk));
      if (!now) return FailWith(ENOENT, ErrorCode::kNotFound, place.path() + ": is gone");
      return RemoveChunk(place);
    }
    case Place::Kind::kScratch:
      if (const auto staged = scratch_.Remove(place.directory, place.name)) {
        if (staged->opens() == 0) EndStaged(staged);
        return {};
      }
      return FailWith(ENOENT, ErrorCode::kNotFound, place.path() + ": is gone");
    case Place::Kind::kSource: {
      UNSHARD_ASSIGN_OR_RETURN(const bool removed, parts_.files->Remove(place.path()));
      if (removed) return {};
      return FailWith(ENOENT, ErrorCode::kNotFound, place.path() + ": is gone");
    }
    default:
      return Refuse(place);
  }
}

VolumeFs::DirectoryHistory VolumeFs::HistoryOf(const ChunkTree& tree,
                                               const GridDirectory& in) const {
  const std::string path = JoinPath(tree.directory(), tree.Path(in));
  const std::lock_guard lock(directories_mutex_);
  return {made_.contains(path), removed_.contains(path),
          !begun_.empty() && begun_.contains(tree.StoreDirectory(in))};
}

// A directory of a tree exists where the store has one for it, where chunks under it are committed,
// or where it was made here; not where it was removed here. Without need none comes into being
// because something beside it was published: a copy that has made the directory above makes all of
// its directories without looking.
Result<bool> VolumeFs::GridDirectoryExists(const std::shared_ptr<ChunkTree>& tree,
                                           const GridDirectory& in) {
  if (tree->AlwaysExists(in)) return true;
  const DirectoryHistory history = HistoryOf(*tree, in);
  if (history.made) return true;
  if (!history.removed) {
    if (options_.list == ListMode::kGrid) return true;
    UNSHARD_ASSIGN_OR_RETURN(const auto modified, tree->Modified(in));
    if (modified && !history.begun) return true;
    // An index that cannot be read may name chunks.
    if (modified && HoldsNames(tree, in).value_or(true)) return true;
  }
  return tree->HoldsWritten(in);
}

Result<bool> VolumeFs::HoldsNames(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in) {
  const std::string path = PathOfDirectory(tree, in);
  if (!scratch_.Names(path).empty()) return true;
  bool holds = false;
  Status deeper;
  const auto visit = [&](const ChunkTree::Listed& listed) {
    if (listed.match.kind == ChunkTree::Match::Kind::kDirectory) {
      const auto exists = GridDirectoryExists(tree, listed.match.directory);
      if (!exists) deeper = tl::unexpected<Error>(exists.error());
      holds = holds || (exists && *exists);
    } else {
      holds = true;
    }
    return !holds;
  };
  UNSHARD_RETURN_IF_ERROR(tree->List(in, 0, ListMode::kPresent, visit, [&](const Error& error) {
    deeper = tl::unexpected<Error>(error);
  }));
  UNSHARD_RETURN_IF_ERROR(deeper);
  if (holds) return true;
  const std::lock_guard lock(directories_mutex_);
  const auto below = made_.lower_bound(path + "/");
  return below != made_.end() && below->starts_with(path + "/");
}

Result<Entry> VolumeFs::MakeDirectory(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  const std::string path = place.path();
  if (place.kind == Place::Kind::kGridDirectory) {
    UNSHARD_ASSIGN_OR_RETURN(const bool exists, GridDirectoryExists(place.tree, place.grid));
    if (exists) return FailWith(EEXIST, ErrorCode::kInvalidArgument, path + ": exists");
    UNSHARD_ASSIGN_OR_RETURN(const auto stored, place.tree->Modified(place.grid));
    {
      const std::lock_guard lock(directories_mutex_);
      if (!stored) begun_.insert(place.tree->StoreDirectory(place.grid));
      made_.insert(path);
      removed_.erase(path);
    }
    return ReferGridDirectory(place.tree, place.grid);
  }
  if (place.kind == Place::Kind::kScratch) {
    return FailWith(EPERM, ErrorCode::kPermissionDenied,
                    path + ": scratch names are files, not directories");
  }
  if (place.kind != Place::Kind::kSource) {
    if (place.kind == Place::Kind::kChunk) {
      return Fail(ErrorCode::kInvalidArgument, path + ": is the name of a chunk");
    }
    return Refuse(place);
  }
  UNSHARD_RETURN_IF_ERROR(MakeShownDirectory(place.directory));
  UNSHARD_ASSIGN_OR_RETURN(const bool made, parts_.files->MakeDirectory(path));
  if (!made) return FailWith(EEXIST, ErrorCode::kInvalidArgument, path + ": exists");
  return Lookup(parent, name);
}

Status VolumeFs::RemoveDirectory(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  const std::string path = place.path();
  if (place.kind == Place::Kind::kGridDirectory) {
    if (place.tree->AlwaysExists(place.grid)) {
      return FailWith(EBUSY, ErrorCode::kPermissionDenied, path + ": is always there");
    }
    UNSHARD_ASSIGN_OR_RETURN(const bool holds, HoldsNames(place.tree, place.grid));
    if (holds) return FailWith(ENOTEMPTY, ErrorCode::kInvalidArgument, path + ": is not empty");
    const std::lock_guard lock(directories_mutex_);
    made_.erase(path);
    removed_.insert(path);
    return {};
  }
  if (place.kind != Place::Kind::kSource) return Refuse(place);
  if (const auto overlay = parts_.datasets->Find(path); overlay && !overlay->trees.empty()) {
    return FailWith(EBUSY, ErrorCode::kPermissionDenied, path + ": belongs to a sharded dataset");
  }
  UNSHARD_ASSIGN_OR_RETURN(const bool removed, parts_.files->Remove(path));
  if (removed) return {};
  return FailWith(ENOENT, ErrorCode::kNotFound, path + ": is gone");
}

}  // namespace unshard
