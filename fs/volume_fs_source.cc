// Files of the source on a writable mount: passed through, whatever they hold. And the metadata
// documents of sharded datasets, of which only what does not concern the layout can be changed.
#include <algorithm>
#include <cerrno>

#include "codec/metadata_merge.h"
#include "fs/volume_fs.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{64} << 20;

tl::unexpected<Error> FailWith(int number, ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), number});
}

Error StaleNode() { return Error{ErrorCode::kConflict, "the file is gone", 0}; }

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
  if (!status || IdentityOf(*status) != node.identity) return tl::unexpected<Error>(StaleNode());
  return LiveEntry(node, *status);
}

Result<OpenFilePtr> VolumeFs::OpenLive(const TableNode& node, const OpenRequest& request) {
  std::string path;
  {
    const std::lock_guard lock(node.mutex);
    path = node.live_path;
  }
  OpenFlags flags;
  flags.write = request.write;
  flags.truncate = request.truncate;
  auto file = std::make_unique<OpenFile>();
  UNSHARD_ASSIGN_OR_RETURN(file->live, parts_.files->Open(path, flags));
  // Empty: the kernel looks again.
  if (!file->live) return tl::unexpected<Error>(Error{ErrorCode::kConflict, "", 0});
  file->node = node.id;
  file->writable = request.write;
  file->opener = request.thread;
  const std::lock_guard lock(node.mutex);
  node.live_file = file->live;
  return file;
}

Result<VolumeFs::Created> VolumeFs::CreateInSource(const Place& place, const OpenRequest& request) {
  OpenFlags flags;
  flags.write = true;
  flags.create = true;
  flags.exclusive = request.exclusive;
  flags.truncate = request.truncate;
  auto file = std::make_unique<OpenFile>();
  UNSHARD_ASSIGN_OR_RETURN(file->live, parts_.files->Open(place.path(), flags));
  if (!file->live) return tl::unexpected<Error>(StaleNode());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->live->Stat());
  const Entry entry = ReferLiveFile(place.path(), status);
  file->node = entry.node;
  file->writable = request.write;
  file->opener = request.thread;
  if (const TablePtr node = nodes_.Get(entry.node)) {
    const std::lock_guard lock(node->mutex);
    node->live_file = file->live;
  }
  return Created{entry, std::move(file)};
}

Result<Entry> VolumeFs::SetLiveAttributes(const TableNode& node, OpenFile* file,
                                          const AttributeChange& change) {
  std::shared_ptr<File> open = file != nullptr ? file->live : nullptr;
  if (!open) {
    std::string path;
    {
      const std::lock_guard lock(node.mutex);
      path = node.live_path;
    }
    OpenFlags flags;
    flags.write = true;
    UNSHARD_ASSIGN_OR_RETURN(open, parts_.files->Open(path, flags));
    if (!open) return tl::unexpected<Error>(StaleNode());
  }
  if (change.size) UNSHARD_RETURN_IF_ERROR(open->Truncate(*change.size));
  if (change.modified) UNSHARD_RETURN_IF_ERROR(open->SetModified(*change.modified));
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, open->Stat());
  return LiveEntry(node, status);
}

Status VolumeFs::RenameInSource(const Place& from, const Place& to, bool replace) {
  for (const Place* place : {&from, &to}) {
    // A dataset that moves away under its mount would take its chunks in the spool with it.
    const std::string path = place->path();
    for (const auto& tree : parts_.datasets->trees()) {
      const std::string& directory = tree->directory();
      if (directory == path || directory.starts_with(path + "/")) {
        return FailWith(EBUSY, ErrorCode::kPermissionDenied,
                        path + ": holds a sharded dataset that this mount serves");
      }
    }
  }
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew(to));
  UNSHARD_RETURN_IF_ERROR(parts_.files->Rename(from.path(), to.path()));
  const TablePtr parent = nodes_.Get(to.parent);
  UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(to.path()));
  const bool directory = status && status->kind == FileStatus::Kind::kDirectory;
  // The kernel takes the node of a directory along, which says where it stood.
  if (directory && writing_.drop_entry) writing_.drop_entry(to.parent, to.name);
  return {};
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
  const auto removed = parts_.files->Remove(from.path());
  if (!removed) LogWarning(removed.error().message);
  // The kernel has the file's node under the chunk's name now.
  if (writing_.drop_entry) writing_.drop_entry(to.parent, to.name);
  return {};
}

Status VolumeFs::CommitDocument(const StagedInode::Document& document, StagedFile& staged) {
  if (staged.size() > kMaxDocumentBytes) {
    return FailWith(EFBIG, ErrorCode::kInvalidArgument, "expected at most 64 MiB of metadata");
  }
  std::string text(staged.size(), '\0');
  UNSHARD_ASSIGN_OR_RETURN(
      const std::size_t read,
      staged.Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  text.resize(read);
  return CommitDocumentText(document, text);
}

Status VolumeFs::CommitDocumentText(const StagedInode::Document& document,
                                    const std::string& text) {
  const std::string key = JoinPath(document.directory, document.name);
  const std::lock_guard lock(documents_mutex_);
  UNSHARD_ASSIGN_OR_RETURN(const auto original, ReadWhole(*parts_.store, key, kMaxDocumentBytes));
  if (!original) {
    return FailWith(EPERM, ErrorCode::kPermissionDenied,
                    key + ": is gone from the source, and how chunks are stored is not known here");
  }
  const auto merged = document.name == "info" ? MergeNeuroglancerInfo(original->text, text)
                                              : MergeZarrMetadata(original->text, text);
  if (!merged) return Forward(merged.error(), key);
  if (*merged != original->text) {
    UNSHARD_RETURN_IF_ERROR(ReplaceFile(*parts_.files, key, AsBytes(*merged)));
  }
  parts_.datasets->Reload(document.directory);
  if (writing_.look_again) writing_.look_again(key);
  return {};
}

}  // namespace unshard
