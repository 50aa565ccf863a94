// Files of the source on a writable mount: passed through, whatever they hold, but for metadata
// documents (fs/write/metadata_documents.h).
#include <algorithm>
#include <cerrno>

#include "fs/common/request_failures.h"
#include "fs/volume_fs.h"
#include "store/object/log.h"

namespace unshard {
namespace {

Error GoneFile() { return Error{ErrorCode::kConflict, "the file is gone", 0}; }

std::string IdentityOf(const FileStatus& status) {
  return "i:" + std::to_string(status.device) + ':' + std::to_string(status.inode);
}

}  // namespace

Entry VolumeFs::LiveEntry(const TableNode& node, const FileStatus& status) const {
  return Entry{node.id,
               {node.inode, status.size, status.modified, false,
                static_cast<std::uint32_t>(std::min<std::uint64_t>(status.links, 1u << 31))},
               0};
}

Entry VolumeFs::ReferLiveFile(const std::string& path, const FileStatus& status) {
  const std::string identity = IdentityOf(status);
  const TablePtr node = nodes_.Refer(identity, StableInode(identity), LiveFileTarget{path});
  {
    const std::lock_guard lock(node->mutex);
    node->live_path = path;
  }
  return LiveEntry(*node, status);
}

Result<Entry> VolumeFs::AttributesOfLiveFile(const TableNode& node) const {
  std::shared_ptr<File> open;
  std::string path;
  {
    const std::lock_guard lock(node.mutex);
    open = node.live_file.lock();
    path = node.live_path;
  }
  if (open) {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, open->Stat());
    return LiveEntry(node, status);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(path));
  if (!status || IdentityOf(*status) != node.identity) return tl::unexpected<Error>(GoneFile());
  return LiveEntry(node, *status);
}

Result<OpenFilePtr> VolumeFs::OpenLive(const TableNode& node, const OpenRequest& request) {
  std::string path;
  {
    const std::lock_guard lock(node.mutex);
    path = node.live_path;
  }
  const bool document = request.write && parts_.datasets->HoldsPlainDocument(path) &&
                        parts_.datasets->HasPlainDocument(ParentPath(path), BaseName(path));
  if (document) return OpenPlainDocument(node, path, request);
  OpenFlags flags;
  flags.write = request.write;
  flags.truncate = request.truncate;
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, parts_.files->Open(path, flags));
  if (!file) return LookAgain();
  return OpenSource(node, std::move(file), request);
}

OpenFilePtr VolumeFs::OpenSource(const TableNode& node, std::shared_ptr<File> file,
                                 const OpenRequest& request) {
  const std::lock_guard lock(node.mutex);
  node.live_file = file;
  return std::make_unique<OpenSourceFile>(
      node.id, request, file, [this, id = node.id, file] { return CompleteLive(id, *file); });
}

// The document of a dataset is written aside, like the documents that are shown rewritten, until
// it is known whether it can stand there, and how the arrays are stored of which it embeds copies.
Result<OpenFilePtr> VolumeFs::OpenPlainDocument(const TableNode& node, const std::string& path,
                                                const OpenRequest& request) {
  const StagedInode::Document purpose{ParentPath(path), BaseName(path), true};
  const ChunkId id = StagedFiles::DocumentId(purpose);
  auto staged = writers_.Latest(id);
  if (staged && !request.truncate && staged->Hold()) return Join(id, staged, node.id, request);
  {
    ContentPtr base;
    if (!request.truncate) {
      UNSHARD_ASSIGN_OR_RETURN(const auto object,
                               ReadWhole(*parts_.store, path, kMaxDocumentBytes, CallerDeadline()));
      if (!object) return LookAgain();
      const ByteSpan text = AsBytes(object->text);
      base = MakeBytesContent(Bytes(ByteVector(text.begin(), text.end())));
    }
    staged = std::make_shared<StagedInode>(writes_->spool(), purpose, base, node.inode);
    if (!staged->Hold()) return tl::unexpected<Error>(GoneFile());
  }
  return Join(id, staged, node.id, request);
}

// A directory that is shown because chunks belong into it comes into being with what is put there.
Status VolumeFs::MakeShownDirectory(const std::string& path) {
  const auto overlay = parts_.datasets->Find(path);
  if (!overlay || (overlay->trees.empty() && overlay->virtual_children.empty())) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(path));
  return status ? Status() : MakeDirectories(*parts_.files, path);
}

Result<VolumeFs::Created> VolumeFs::CreateInSource(const Place& place, const OpenRequest& request) {
  UNSHARD_RETURN_IF_ERROR(MakeShownDirectory(place.directory));
  OpenFlags flags;
  flags.write = true;
  flags.create = true;
  flags.exclusive = request.exclusive;
  flags.truncate = request.truncate;
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, parts_.files->Open(place.path(), flags));
  if (!file) return tl::unexpected<Error>(GoneFile());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  const Entry entry = ReferLiveFile(place.path(), status);
  return Created{entry, OpenSource(*nodes_.Get(entry.node), std::move(file), request)};
}

Result<Entry> VolumeFs::SetLiveAttributes(const TableNode& node, OpenFile* file,
                                          const AttributeChange& change) {
  std::shared_ptr<File> open = file != nullptr ? file->source_file() : nullptr;
  if (!open) {
    std::string path;
    {
      const std::lock_guard lock(node.mutex);
      path = node.live_path;
    }
    OpenFlags flags;
    flags.write = true;
    UNSHARD_ASSIGN_OR_RETURN(open, parts_.files->Open(path, flags));
    if (!open) return tl::unexpected<Error>(GoneFile());
  }
  if (change.size) UNSHARD_RETURN_IF_ERROR(open->Truncate(*change.size));
  if (change.modified) UNSHARD_RETURN_IF_ERROR(open->SetModified(*change.modified));
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, open->Stat());
  return LiveEntry(node, status);
}

Status VolumeFs::RenameInSource(const Place& from, const Place& to, bool replace) {
  for (const Place* place : {&from, &to}) {
    // A dataset that moves away under its mount would take its chunks in the spool with it.
    if (!parts_.datasets->index().ServesTreesIn(place->path())) continue;
    return FailWith(EBUSY, ErrorCode::kPermissionDenied,
                    place->path() + ": holds a sharded dataset that this mount serves: rename it " +
                        "in the source, or copy it");
  }
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew(to));
  UNSHARD_RETURN_IF_ERROR(MakeShownDirectory(to.directory));
  std::vector<std::string> moved;
  {
    const DirectoryMoves::Move move(directory_moves_);
    UNSHARD_RETURN_IF_ERROR(parts_.files->Rename(from.path(), to.path()));
    moved = nodes_.Move(from.path(), to.path(), [&](const std::string& path) {
      return parts_.datasets->index().IsBelowOpaque(path);
    });
  }
  for (const std::string& directory : moved) parts_.watcher->Watch(directory);
  return {};
}

// The document of a dataset stays as it is, with its inode and its time, unless it embeds copies
// of sharded arrays.
Status VolumeFs::RenameOntoPlainDocument(const Place& from, const Place& to, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(from.path()));
  if (!status || status->kind != FileStatus::Kind::kFile) return RenameInSource(from, to, replace);
  UNSHARD_ASSIGN_OR_RETURN(const bool complete, documents_->IsComplete(from.path(), to.path()));
  return complete ? RenameInSource(from, to, replace) : RenameSourceFileOnto(from, to, replace);
}

// A file beside the data that becomes a chunk or a document: its bytes are committed, then it goes.
Status VolumeFs::RenameSourceFileOnto(const Place& from, const Place& to, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, parts_.files->Open(from.path(), {}));
  if (!file) return FailWith(ENOENT, ErrorCode::kNotFound, from.path() + ": is gone");
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.kind != FileStatus::Kind::kFile) {
    return FailWith(ENOTDIR, ErrorCode::kInvalidArgument, from.path() + ": is no file");
  }
  const auto staged = std::make_shared<StagedInode>(writes_->spool(), StagedInode::Scratch{},
                                                    MakeFileContent(file, status.size),
                                                    StableInode(IdentityOf(status)));
  staged->SetModified(status.modified);
  UNSHARD_RETURN_IF_ERROR(PutOnto(staged, to, replace));
  if (to.kind == Place::Kind::kChunk) {
    // What goes may have been on the disk.
    const auto version = parts_.written->Find(ChunkId::Of(*to.tree, to.chunk));
    if (version) UNSHARD_RETURN_IF_ERROR(writes_->SyncInSpool(version));
  }
  const auto removed = parts_.files->Remove(from.path());
  if (!removed) LogWarning(removed.error().message);
  // The kernel has the file's node under the chunk's name now. Names of files have no time to live.
  return {};
}

Status VolumeFs::CompleteLive(NodeId id, File& file) {
  const TablePtr node = nodes_.Get(id);
  if (!node) return {};
  std::string path;
  {
    const std::lock_guard lock(node->mutex);
    path = node->live_path;
  }
  return documents_->CompleteInPlace(path, file);
}

}  // namespace unshard
