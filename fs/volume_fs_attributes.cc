// What programs change about files of a writable mount without opening them, and syncing of
// directories.
#include "fs/request_failures.h"
#include "fs/volume_fs.h"

namespace unshard {

Result<Entry> VolumeFs::SetChunkAttributes(NodeId node, const SeenChunk& seen,
                                           const AttributeChange& change, pid_t thread) {
  if (change.size) {
    const auto fixed = seen.tree->FixedSize(seen.chunk);
    UNSHARD_ASSIGN_OR_RETURN(const Entry now, GetAttributes(node));
    if (fixed && *change.size != *fixed) {
      return Fail(ErrorCode::kInvalidArgument,
                  "a chunk of this array has " + std::to_string(*fixed) +
                      " bytes and cannot be truncated to " + std::to_string(*change.size));
    }
    if (*change.size != now.attributes.size) {
      Place place;
      place.tree = seen.tree;
      place.chunk = seen.chunk;
      UNSHARD_ASSIGN_OR_RETURN(const auto staged, StageChunk(place, false));
      return Redirect(ChunkId::Of(*seen.tree, seen.chunk), staged, thread);
    }
  }
  // The kernel knows this chunk under its old name's node, and looks the new one up.
  if (seen.moved) return LookAgain();
  if (change.modified) SetShownTime(seen, *change.modified);
  return GetAttributes(node);
}

// From now on until its release the file's node has the attributes of the version that it reads.
void VolumeFs::CountOpen(OpenFile& file) {
  const auto now = AttributesNow(file.node);
  OpenVersions::Shown shown{file.node, file.content->size(), TimeNow()};
  if (now) shown.inode = now->attributes.inode;
  if (now) shown.modified = now->attributes.modified;
  open_versions_.Opened(file.node, shown);
  file.counted = true;
}

// Remembered while mounted.
void VolumeFs::SetShownTime(const SeenChunk& seen, const timespec& modified) {
  if (seen.version) {
    parts_.written->SetModified(*seen.version, modified);
    return;
  }
  constexpr std::size_t kMostTimes = std::size_t{1} << 16;
  const auto generation = seen.tree->shards().Current(seen.chunk.slot.shard);
  if (!generation) return;
  const std::lock_guard lock(times_mutex_);
  if (times_.size() >= kMostTimes) times_.clear();
  times_[JoinPath(seen.tree->directory(), seen.tree->Path(seen.chunk))] = {modified,
                                                                           (*generation)->count};
}

Result<Entry> VolumeFs::SetAttributes(NodeId id, OpenFile* file, const AttributeChange& change,
                                      pid_t thread) {
  const TablePtr table = UnpackGridNode(id) ? nullptr : nodes_.Get(id);
  const auto staged = file != nullptr && file->staged ? file->staged : StagedAt(id, table);
  if (staged) {
    if (change.size && *change.size != staged->size()) {
      const std::uint64_t before = staged->size();
      const std::uint64_t more = *change.size - std::min(*change.size, before);
      UNSHARD_RETURN_IF_ERROR(WithRoom(more, [&] { return staged->Truncate(*change.size); }));
      // Truncating by path is all there is to it: commit, as a close would.
      const auto writer = WriterId(*staged);
      if (file == nullptr && writer) {
        writers_.TakeRedirect(thread, *writer);
        UNSHARD_RETURN_IF_ERROR(CommitStaged(*staged, nullptr));
      }
    }
    if (change.modified) {
      staged->SetModified(*change.modified);
      const StagedInode::Purpose purpose = staged->purpose();
      const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
      if (chunk != nullptr && !staged->dirty()) {
        SetShownTime({chunk->tree, chunk->chunk, parts_.written->Find(*WriterId(*staged)), true},
                     *change.modified);
      }
    }
    return AttributesOfStaged(id, staged);
  }
  if (const auto seen = ChunkOf(id, table)) return SetChunkAttributes(id, *seen, change, thread);
  if (table && std::holds_alternative<LiveFileTarget>(table->target)) {
    return SetLiveAttributes(*table, file, change);
  }
  // Directories and documents take no times; who sets them is not told so, as on file systems that
  // keep none.
  if (change.size) return Fail(ErrorCode::kReadOnly, "cannot be truncated");
  return GetAttributes(id);
}

Status VolumeFs::SyncDirectory(NodeId id) {
  if (const auto grid = UnpackGridNode(id)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return {};
    return writes_->SyncDirectory(*tree, tree->AtPosition(grid->position).directory);
  }
  const TablePtr table = nodes_.Get(id);
  if (!table) return {};
  if (const auto* in = std::get_if<GridDirectoryTarget>(&table->target)) {
    return writes_->SyncDirectory(*in->tree, in->directory);
  }
  const auto* directory = std::get_if<DirectoryTarget>(&table->target);
  if (directory == nullptr) return {};
  if (const auto overlay = parts_.datasets->Find(directory->path); overlay && !directory->opaque) {
    for (const auto& tree : overlay->trees) {
      UNSHARD_RETURN_IF_ERROR(writes_->SyncDirectory(*tree, {}));
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto there, parts_.files->Stat(directory->path));
  return there ? parts_.files->SyncDirectory(directory->path) : Status{};
}

}  // namespace unshard
