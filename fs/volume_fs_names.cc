// Names of a writable mount: what a name stands for to who creates, renames, links or removes it.
#include <algorithm>
#include <cerrno>

#include "codec/grid/chunk_key.h"
#include "fs/common/request_failures.h"
#include "fs/control_files.h"
#include "fs/volume_fs.h"
#include "store/object/log.h"
#include "store/publish/can_publish.h"

namespace unshard {
namespace {

Error GoneDirectory() { return Error{ErrorCode::kConflict, "the directory is gone", 0}; }

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
  UNSHARD_RETURN_IF_ERROR(CheckName(name));
  Place place;
  place.parent = parent;
  place.name = name;
  if (const auto grid = UnpackGridNode(parent)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return tl::unexpected<Error>(GoneDirectory());
    return PlaceInTree(std::move(place), tree, tree->AtPosition(grid->position).directory);
  }
  const TablePtr node = nodes_.Get(parent);
  if (!node) return tl::unexpected<Error>(GoneDirectory());
  if (const auto* in = std::get_if<GridDirectoryTarget>(&node->target)) {
    return PlaceInTree(std::move(place), in->tree, in->directory);
  }
  if (const auto* directory = std::get_if<DirectoryTarget>(&node->target)) {
    return PlaceInDirectory(std::move(place), *directory);
  }
  if (const auto* scratch = std::get_if<ScratchDirectoryTarget>(&node->target)) {
    auto path = scratch_.PathOf(*scratch->directory);
    if (!path) return FailWith(ENOENT, ErrorCode::kNotFound, "the directory was removed");
    place.directory = *std::move(path);
    place.kind = Place::Kind::kScratch;
    return place;
  }
  place.directory = std::string(kControlDirectory);
  return place;
}

Result<VolumeFs::Place> VolumeFs::PlaceInTree(Place place, const std::shared_ptr<ChunkTree>& tree,
                                              const GridDirectory& in) {
  if (tree->retired()) return LookAgain();
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
  return PlaceBesideDirectories(std::move(place), in);
}

// A name in a directory of the tree that is none of the tree's: what stands in the directory of the
// store with the same name is a file of the source, everything else is scratch.
Result<VolumeFs::Place> VolumeFs::PlaceBesideDirectories(Place place, const GridDirectory& in) {
  place.kind = Place::Kind::kScratch;
  // What else stands in the directory of an array is PlaceInDirectory's to say.
  if (in.level == 0 || !place.tree->IsStoreDirectory(in)) return place;
  if (IsHidden(*place.tree, in, place.name)) {
    place.kind = Place::Kind::kForbidden;
    return place;
  }
  if (scratch_.Find(place.directory, place.name)) return place;
  UNSHARD_ASSIGN_OR_RETURN(const auto there, parts_.files->Stat(place.path()));
  if (there) place.kind = Place::Kind::kSource;
  return place;
}

Result<VolumeFs::Place> VolumeFs::PlaceInDirectory(Place place, const DirectoryTarget& directory) {
  place.directory = directory.path;
  if (directory.path.empty() && place.name == kControlDirectory) return place;
  place.kind = Place::Kind::kSource;
  place.plain_document = !directory.opaque && parts_.datasets->HoldsPlainDocument(place.path());
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
    // A close that was refused ends it, although its RELEASE may still be on its way.
    const auto writers = writers_.All(id);
    const bool created = std::any_of(writers.begin(), writers.end(),
                                     [](const auto& staged) { return !staged->all_flushed(); });
    if (there || created) {
      return FailWith(EEXIST, ErrorCode::kInvalidArgument, place.path() + ": is being written");
    }
  }
  choice_.Wrote(id);
  writers_.Arrive(request.thread, id);
  std::shared_ptr<StagedInode> staged = request.truncate ? nullptr : JoinableWriter(place);
  if (!staged) {
    UNSHARD_ASSIGN_OR_RETURN(staged, StageChunk(place, request.truncate));
  }
  const bool fresh =
      !writers_.HasWriter(id) && staged->size() == 0 && !place.gzipped && !parts_.written->Find(id);
  std::optional<Entry> entry;
  if (fresh) entry = ReferArithmetic(place.tree, place.chunk);
  using Begin = OpenVersions::Begin;
  if (entry && !open_versions_.BeginWriting(entry->node, staged, Begin::kCreated)) {
    DropArithmetic(entry->node);
    entry.reset();
  }
  if (entry) {
    staged->SetNode(entry->node);
    entry = AttributesOfStaged(entry->node, staged);
  } else {
    entry = ReferStaged(staged);
  }
  OpenFilePtr file = staged_files_->Open(staged, entry->node, request);
  staged->LetGo();
  return Created{*entry, std::move(file)};
}

Result<VolumeFs::Created> VolumeFs::CreateScratch(const Place& place, const OpenRequest& request) {
  UNSHARD_RETURN_IF_ERROR(staged_files_->AwaitRoom(1));
  const ScratchFiles::Found found = scratch_.Find(place.directory, place.name);
  if (found && request.exclusive) {
    return FailWith(EEXIST, ErrorCode::kInvalidArgument, place.path() + ": exists");
  }
  if (found.directory) {
    return FailWith(EISDIR, ErrorCode::kInvalidArgument, place.path() + ": is a directory");
  }
  auto staged = found.file;
  if (!staged) {
    const std::uint64_t number = ++next_staged_;
    staged = std::make_shared<StagedInode>(
        writes_->spool(), StagedInode::Scratch{}, nullptr,
        StableInode("scratch:" + std::to_string(number) + ':' + place.path()));
    UNSHARD_RETURN_IF_ERROR(staged_files_->Reserve(*staged));
    if (!scratch_.Add(place.directory, place.name, staged)) {
      staged = scratch_.Find(place.directory, place.name).file;
    }
  }
  if (!staged) return tl::unexpected<Error>(GoneDirectory());
  const Entry entry = ReferStaged(staged);
  OpenFilePtr file = staged_files_->Open(staged, entry.node, request);
  if (!file) return tl::unexpected<Error>(GoneDirectory());
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
      there = static_cast<bool>(scratch_.Find(place.directory, place.name));
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
  StagedInode::Purpose after = StagedInode::Document{to.directory, to.name, to.plain_document};
  if (to.kind == Place::Kind::kChunk) {
    if (const Status can = writes_->CanWrite(*to.tree); !can) {
      return Fail(ErrorCode::kReadOnly, can.error().message);
    }
    UNSHARD_RETURN_IF_ERROR(CanPublishInto(
        *parts_.files,
        JoinPath(to.tree->directory(), to.tree->shards().keys().Key(to.chunk.slot.shard))));
    after = StagedInode::Chunk{to.tree, to.chunk, to.gzipped};
  }
  const bool drop = BareNameIsRemembered(to);
  staged_files_->ChangePurpose(staged, std::move(after));
  if (const Status committed = staged_files_->Commit(*staged); !committed) {
    staged_files_->ChangePurpose(staged, before);
    return committed;
  }
  if (drop) DropBareName(*to.tree, to.chunk);
  return {};
}

Status VolumeFs::RenameScratch(const Place& from, const Place& to, bool replace) {
  const ScratchFiles::Found found = scratch_.Find(from.directory, from.name);
  if (!found) return FailWith(ENOENT, ErrorCode::kNotFound, from.path() + ": is gone");
  if (to.kind == Place::Kind::kScratch) {
    if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew(to));
    return scratch_.Rename(from.directory, from.name, to.directory, to.name);
  }
  if (found.directory) {
    return FailWith(EXDEV, ErrorCode::kNotSupported,
                    to.path() + ": a scratch directory stays among the chunks");
  }
  const auto& staged = found.file;
  switch (to.kind) {
    case Place::Kind::kChunk:
    case Place::Kind::kDocument:
      UNSHARD_RETURN_IF_ERROR(PutOnto(staged, to, replace));
      scratch_.Remove(from.directory, from.name);
      if (staged->opens() == 0) staged_files_->End(staged);
      return {};
    case Place::Kind::kSource:
      return FailWith(EXDEV, ErrorCode::kNotSupported,
                      to.path() + ": scratch files become chunks, or are copied");
    default:
      return Refuse(to);
  }
}

// The kernel's dentry goes to the new name, with its node and its time to live. A name that may be
// remembered is answered with ESTALE: the kernel looks it up again, which leaves it no time to live
// (fs/write/node_choice.h), and renames it then. So the new name is looked up when it is used next.
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
  const ChunkId id = ChunkId::Of(*from.tree, from.chunk);
  if (!choice_.IsContended(id) && MayBeRemembered(from)) {
    choice_.SendAway(id);
    return LookAgain();
  }
  StagedInode copy(writes_->spool(), StagedInode::Chunk{to.tree, to.chunk, false}, content,
                   InodeOfChunk(to.tree, to.chunk));
  copy.SetModified(TimeOfChunk(from.tree, chunk));
  UNSHARD_RETURN_IF_ERROR(staged_files_->AwaitRoom(content->size() + 1));
  ChunkWrites::Commit put{to.tree, to.chunk, false, copy.modified(), copy.inode()};
  ChunkWrites::Commit removal{from.tree, from.chunk, false, TimeNow()};
  const bool drop_from = BareNameIsRemembered(from), drop_to = BareNameIsRemembered(to);
  UNSHARD_RETURN_IF_ERROR(
      copy.CommitWith([&](StagedFile& bytes) { return writes_->CommitMove(put, bytes, removal); }));
  writers_.ForgetEmptied(ChunkId::Of(*to.tree, to.chunk));
  Detach(id, StagedInode::Chunk{to.tree, to.chunk, to.gzipped});
  if (drop_from) DropBareName(*from.tree, from.chunk);
  if (drop_to) DropBareName(*to.tree, to.chunk);
  return {};
}

// What stands in a directory of the source goes on standing there under a new name; elsewhere it
// would be lost with the other scratch files, so who moves it there copies it.
Status VolumeFs::RenameSourceFileToScratch(const Place& from, const Place& to, bool replace) {
  if (to.directory == from.directory && !scratch_.Find(to.directory, to.name)) {
    return RenameInSource(from, to, replace);
  }
  return FailWith(EXDEV, ErrorCode::kNotSupported, to.path() + ": is a scratch name");
}

// What readers are shown as its time.
timespec VolumeFs::TimeOfChunk(const std::shared_ptr<ChunkTree>& tree,
                               const ChunkRef& chunk) const {
  const WrittenVersionPtr version = parts_.written->Find(ChunkId::Of(*tree, chunk));
  if (version) return parts_.written->ModifiedOf(*version);
  const auto generation = tree->shards().Current(chunk.slot.shard, CallerDeadline());
  return generation && *generation ? ShownTime(*tree, chunk, **generation) : TimeNow();
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
      if (to.kind == Place::Kind::kSource && to.plain_document) {
        return RenameOntoPlainDocument(from, to, replace);
      }
      if (to.kind == Place::Kind::kSource) return RenameInSource(from, to, replace);
      if (to.kind == Place::Kind::kChunk || to.kind == Place::Kind::kDocument) {
        return RenameSourceFileOnto(from, to, replace);
      }
      if (to.kind == Place::Kind::kScratch) return RenameSourceFileToScratch(from, to, replace);
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
    if (to.plain_document) {
      UNSHARD_ASSIGN_OR_RETURN(const bool complete, documents_->IsComplete(path, to.path()));
      if (!complete) {
        return FailWith(EPERM, ErrorCode::kPermissionDenied,
                        to.path() + ": embeds copies of sharded arrays, which are stored in " +
                            "another form: write or rename it");
      }
    }
    UNSHARD_RETURN_IF_ERROR(MakeShownDirectory(to.directory));
    UNSHARD_RETURN_IF_ERROR(parts_.files->Link(path, to.path()));
    UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(to.path()));
    if (!status) return tl::unexpected<Error>(GoneDirectory());
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

Status VolumeFs::RemoveChunk(const Place& place) {
  if (const Status can = writes_->CanWrite(*place.tree); !can) {
    return Fail(ErrorCode::kReadOnly, can.error().message);
  }
  UNSHARD_RETURN_IF_ERROR(CanPublishInto(
      *parts_.files,
      JoinPath(place.tree->directory(), place.tree->shards().keys().Key(place.chunk.slot.shard))));
  ChunkWrites::Commit commit;
  commit.tree = place.tree;
  commit.chunk = place.chunk;
  commit.modified = TimeNow();
  const bool drop = BareNameIsRemembered(place);
  const auto removed = writes_->CommitRemoval(commit);
  if (!removed) return tl::unexpected<Error>(removed.error());
  if (drop) DropBareName(*place.tree, place.chunk);
  Detach(ChunkId::Of(*place.tree, place.chunk), StagedInode::Scratch{});
  return {};
}

// Who has the chunk open for writing writes a file without a name from now on, or another chunk.
void VolumeFs::Detach(const ChunkId& id, const StagedInode::Purpose& purpose) {
  for (const auto& staged : writers_.All(id)) staged_files_->ChangePurpose(staged, purpose);
  writers_.ForgetEmptied(id);
}

Status VolumeFs::Remove(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  switch (place.kind) {
    case Place::Kind::kChunk: {
      UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now, writes_->Current(place.tree, place.chunk));
      if (now) return RemoveChunk(place);
      // What is being created has no name for others yet, and never gets one.
      const ChunkId id = ChunkId::Of(*place.tree, place.chunk);
      if (writers_.HasWriter(id)) {
        Detach(id, StagedInode::Scratch{});
        return {};
      }
      return FailWith(ENOENT, ErrorCode::kNotFound, place.path() + ": is gone");
    }
    case Place::Kind::kScratch:
      if (const auto staged = scratch_.Remove(place.directory, place.name)) {
        if (staged->opens() == 0) staged_files_->End(staged);
        return {};
      }
      if (scratch_.Find(place.directory, place.name)) {
        return FailWith(EISDIR, ErrorCode::kInvalidArgument, place.path() + ": is a directory");
      }
      return FailWith(ENOENT, ErrorCode::kNotFound, place.path() + ": is gone");
    case Place::Kind::kDocument:
      return documents_->Remove(place.path());
    case Place::Kind::kSource: {
      UNSHARD_ASSIGN_OR_RETURN(const bool removed, parts_.files->Remove(place.path()));
      if (removed) return {};
      return FailWith(ENOENT, ErrorCode::kNotFound, place.path() + ": is gone");
    }
    default:
      return Refuse(place);
  }
}

// The kernel says EEXIST by itself where it has found the directory. Asked for one of the grid,
// which always exists, it had not, and who makes a tree without looking goes on.
Result<Entry> VolumeFs::MakeDirectory(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  const std::string path = place.path();
  switch (place.kind) {
    case Place::Kind::kGridDirectory:
      return ReferGridDirectory(place.tree, place.grid);
    case Place::Kind::kScratch: {
      UNSHARD_ASSIGN_OR_RETURN(const auto made,
                               scratch_.MakeDirectory(place.directory, place.name));
      return ReferScratchDirectory(made);
    }
    case Place::Kind::kChunk:
      return Fail(ErrorCode::kInvalidArgument, path + ": is the name of a chunk");
    case Place::Kind::kSource:
      break;
    default:
      return Refuse(place);
  }
  UNSHARD_RETURN_IF_ERROR(MakeShownDirectory(place.directory));
  UNSHARD_ASSIGN_OR_RETURN(const bool made, parts_.files->MakeDirectory(path));
  if (!made) return FailWith(EEXIST, ErrorCode::kInvalidArgument, path + ": exists");
  return Lookup(parent, name);
}

Status VolumeFs::RemoveDirectory(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  UNSHARD_RETURN_IF_ERROR(RemoveDirectoryAt(place));
  // The kernel has marked its inode dead (S_DEAD).
  if (place.kind == Place::Kind::kGridDirectory) {
    removed_.Add(place.path());
  } else {
    nodes_.Disown("d:" + place.path());
  }
  return {};
}

// Directories that chunks belong into go on existing, so that removing one means that it is empty.
Status VolumeFs::RemoveDirectoryAt(const Place& place) {
  const std::string path = place.path();
  const auto must_be_empty = [&](bool empty) -> Status {
    if (empty) return {};
    return FailWith(ENOTEMPTY, ErrorCode::kInvalidArgument, path + ": is not empty");
  };
  switch (place.kind) {
    case Place::Kind::kGridDirectory: {
      UNSHARD_ASSIGN_OR_RETURN(const bool empty, IsEmpty(place.tree, place.grid));
      return must_be_empty(empty);
    }
    case Place::Kind::kScratch:
      return scratch_.RemoveDirectory(place.directory, place.name);
    case Place::Kind::kSource:
      break;
    default:
      return Refuse(place);
  }
  if (const auto overlay = parts_.datasets->Find(path); overlay && !overlay->trees.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const bool empty, IsEmpty(DirectoryTarget{path}));
    return must_be_empty(empty);
  }
  UNSHARD_ASSIGN_OR_RETURN(const bool removed, parts_.files->Remove(path));
  if (removed) return {};
  return FailWith(ENOENT, ErrorCode::kNotFound, path + ": is gone");
}

}  // namespace unshard
