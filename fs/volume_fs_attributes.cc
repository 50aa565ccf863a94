// Attributes of nodes, what programs change about files of a writable mount without opening them,
// and fsync of directories.
#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/volume_fs.h"

namespace unshard {

Result<Entry> VolumeFs::GetAttributes(NodeId id) {
  auto now = AttributesNow(id);
  if (!writable()) return now;
  const auto shown = open_versions_.Find(id);
  if (!shown || (now && now->attributes.size == shown->size)) return now;
  return Entry{id, {shown->inode, shown->size, shown->modified, false}, Timeout()};
}

Result<Entry> VolumeFs::AttributesNow(NodeId id) {
  const auto grid = UnpackGridNode(id);
  if (!grid) {
    const TablePtr node = nodes_.Get(id);
    if (!node) return tl::unexpected<Error>(StaleNode());
    const auto staged = writable() ? open_versions_.StagedAt(id) : nullptr;
    if (staged && staged->ended()) return LookAgain();
    return staged ? AttributesOfStaged(id, staged) : AttributesOfTableNode(*node);
  }
  if (writable()) {
    if (const auto staged = StagedAt(id, nullptr)) {
      if (staged->ended()) return LookAgain();
      return AttributesOfStaged(id, staged);
    }
    const auto seen = ChunkOf(id, nullptr);
    if (seen && seen->version && seen->current) {
      return Entry{id,
                   {seen->version->inode != 0 ? seen->version->inode : GridInode(*grid),
                    seen->version->size, parts_.written->ModifiedOf(*seen->version), false},
                   Timeout()};
    }
  }
  const auto tree = parts_.datasets->TreeAt(grid->ordinal);
  if (!tree) return tl::unexpected<Error>(StaleNode());
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  const std::uint64_t inode = GridInode(*grid);
  if (match.kind == ChunkTree::Match::Kind::kDirectory) {
    const timespec modified = ModifiedOf(tree->StoreDirectory(match.directory));
    return Entry{id, {inode, 0, modified, true}, Timeout()};
  }
  const auto generation = tree->shards().Find(match.chunk.slot.shard, grid->generation_count);
  if (!generation) return LookAgain();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.FindIn(*tree, match.chunk, generation));
  if (!facts) return LookAgain();
  return Entry{
      id, {inode, facts->size, ShownTime(*tree, match.chunk, *generation), false}, Timeout()};
}

Result<Entry> VolumeFs::AttributesOfTableNode(const TableNode& node) {
  struct Visitor {
    VolumeFs& fs;
    const TableNode& node;
    Result<Entry> operator()(const DirectoryTarget& target) const {
      return Entry{node.id, {node.inode, 0, fs.ModifiedOf(target.path), true}, fs.Timeout()};
    }
    Result<Entry> operator()(const GridDirectoryTarget& target) const {
      const timespec modified = fs.ModifiedOf(target.tree->StoreDirectory(target.directory));
      return Entry{node.id, {node.inode, 0, modified, true}, fs.Timeout()};
    }
    Result<Entry> operator()(const FileTarget& target) const {
      return Entry{
          node.id, {node.inode, target.info.size, target.info.modified, false}, fs.Timeout()};
    }
    Result<Entry> operator()(const DocumentTarget& target) const {
      return Entry{node.id,
                   {node.inode, target.text->size(), target.modified, false, 1, target.control},
                   target.control ? 0 : fs.Timeout()};
    }
    Result<Entry> operator()(const ChunkTarget& target) const {
      const auto generation =
          target.tree->shards().Find(target.chunk.slot.shard, target.generation_count);
      if (!generation) return LookAgain();
      UNSHARD_ASSIGN_OR_RETURN(const auto facts,
                               fs.reader_.FindIn(*target.tree, target.chunk, generation));
      if (!facts) return LookAgain();
      const timespec modified = fs.ShownTime(*target.tree, target.chunk, *generation);
      return Entry{node.id, {node.inode, facts->size, modified, false}, fs.Timeout()};
    }
    Result<Entry> operator()(const WrittenTarget& target) const {
      const std::uint64_t size = target.gzipped ? target.gzipped->size() : target.version->size;
      return Entry{node.id,
                   {node.inode, size, fs.parts_.written->ModifiedOf(*target.version), false},
                   fs.Timeout()};
    }
    Result<Entry> operator()(const StagedTarget& target) const {
      return fs.AttributesOfStaged(node.id, target.staged);
    }
    Result<Entry> operator()(const UncommittedTarget& target) const {
      Entry entry = fs.AttributesOfStaged(node.id, target.staged);
      entry.attributes_milliseconds = 0;
      return entry;
    }
    Result<Entry> operator()(const LiveFileTarget&) const { return fs.AttributesOfLiveFile(node); }
    Result<Entry> operator()(const ScratchDirectoryTarget& target) const {
      return Entry{node.id, {node.inode, 0, target.directory->made, true}, fs.Timeout()};
    }
    Result<Entry> operator()(const ControlDirectoryTarget&) const {
      return Entry{node.id, {node.inode, 0, fs.mounted_, true}, kDayMilliseconds};
    }
  };
  return std::visit(Visitor{*this, node}, node.target);
}

Result<Entry> VolumeFs::SetChunkAttributes(NodeId node, const SeenChunk& seen,
                                           const AttributeChange& change, pid_t thread) {
  if (change.size) {
    const auto fixed = seen.tree->FixedSize(seen.chunk);
    UNSHARD_ASSIGN_OR_RETURN(const Entry now, GetAttributes(node));
    if (fixed && *change.size != *fixed && *change.size != 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  "a chunk of this array has " + std::to_string(*fixed) +
                      " bytes and cannot be truncated to " + std::to_string(*change.size));
    }
    if (*change.size != now.attributes.size) {
      return TruncateChunk(node, *change.size, thread);
    }
  }
  if (seen.version && seen.version->removed) return LookAgain();
  if (change.modified) SetShownTime(seen, *change.modified);
  return GetAttributes(node);
}

// Truncating by path: as by open, ftruncate and close.
Result<Entry> VolumeFs::TruncateChunk(NodeId node, std::uint64_t size, pid_t thread) {
  OpenRequest request;
  request.read = false;
  request.write = true;
  request.truncate = size == 0;
  request.thread = thread;
  UNSHARD_ASSIGN_OR_RETURN(OpenFilePtr file, Open(node, request));
  const std::shared_ptr<StagedInode> staged = file->staged();
  const std::uint64_t more = size - std::min(size, staged->size());
  Status done = staged_files_->WithRoom(more, [&] { return staged->Truncate(size); });
  if (done && size != 0) done = staged_files_->Commit(*staged);
  Entry entry = AttributesOfStaged(node, staged);
  entry.attributes_milliseconds = 0;
  Release(std::move(file));
  if (!done) return tl::unexpected<Error>(done.error());
  return entry;
}

// From now on until the file is released its node has the attributes of the version that it reads.
// False where a writer has taken the node over.
bool VolumeFs::CountOpen(NodeId node, const ChunkContent& content) {
  const auto now = AttributesNow(node);
  OpenVersions::Shown shown{node, content.size(), TimeNow()};
  if (now) shown.inode = now->attributes.inode;
  if (now) shown.modified = now->attributes.modified;
  return open_versions_.Opened(node, shown);
}

// Remembered while mounted.
void VolumeFs::SetShownTime(const SeenChunk& seen, const timespec& modified) {
  if (seen.version) {
    parts_.written->SetModified(*seen.version, modified);
    return;
  }
  constexpr std::size_t kMostTimes = std::size_t{1} << 16;
  const auto generation = seen.tree->shards().Current(seen.chunk.slot.shard, CallerDeadline());
  if (!generation) return;
  const std::lock_guard lock(times_mutex_);
  if (times_.size() >= kMostTimes) times_.clear();
  times_[JoinPath(seen.tree->directory(), seen.tree->Path(seen.chunk))] = {modified,
                                                                           (*generation)->count};
}

Result<Entry> VolumeFs::SetAttributes(NodeId id, OpenFile* file, const AttributeChange& change,
                                      pid_t thread) {
  const TablePtr table = UnpackGridNode(id) ? nullptr : nodes_.Get(id);
  auto staged = file != nullptr ? file->staged() : nullptr;
  if (!staged) staged = StagedAt(id, table);
  if (staged) {
    if (change.size && *change.size != staged->size()) {
      const std::uint64_t before = staged->size();
      const std::uint64_t more = *change.size - std::min(*change.size, before);
      UNSHARD_RETURN_IF_ERROR(
          staged_files_->WithRoom(more, [&] { return staged->Truncate(*change.size); }));
      // Truncating by path is all there is to it: commit, as a close would.
      const auto writer = StagedFiles::WriterId(*staged);
      if (file == nullptr && writer) {
        writers_.TakeRedirect(thread, staged);
        UNSHARD_RETURN_IF_ERROR(staged_files_->Commit(*staged));
      }
    }
    if (change.modified) {
      staged->SetModified(*change.modified);
      const StagedInode::Purpose purpose = staged->purpose();
      const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
      if (chunk != nullptr && !staged->dirty()) {
        SetShownTime({chunk->tree, chunk->chunk,
                      parts_.written->Find(*StagedFiles::WriterId(*staged)), true},
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
