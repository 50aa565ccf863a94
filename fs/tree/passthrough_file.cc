#include "fs/tree/passthrough_file.h"

#include <algorithm>
#include <utility>

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_opening.h"
#include "fs/tree/name.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

tl::unexpected<Error> GoneFile() { return Fail(ErrorCode::kConflict, "the file is gone"); }

}  // namespace

PassthroughFile::PassthroughFile(Superblock& superblock, NodeId id, std::string identity,
                                 std::string path, Existence existence)
    : Node(superblock, id, StableInode(identity)),
      identity_(std::move(identity)),
      existence_(existence),
      path_(std::move(path)) {}

std::string PassthroughFile::IdentityOf(const FileStatus& status) {
  return "i:" + std::to_string(status.device) + ':' + std::to_string(status.inode) + ':' +
         std::to_string(status.born.tv_sec) + ':' + std::to_string(status.born.tv_nsec);
}

std::shared_ptr<PassthroughFile> ReferPassthroughFile(Superblock& superblock,
                                                      const std::string& path,
                                                      const FileStatus& status) {
  const std::string identity = PassthroughFile::IdentityOf(status);
  const NodePtr node = superblock.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<PassthroughFile>(superblock, id, identity, path);
  });
  node->MovedTo(path);
  return std::static_pointer_cast<PassthroughFile>(node);
}

Entry ReferUnknownFile(Superblock& superblock, const std::string& path) {
  const std::string identity = "u:" + path;
  const NodePtr node = superblock.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<PassthroughFile>(superblock, id, identity, path,
                                             PassthroughFile::Existence::kUnknown);
  });
  return Entry{node->id(), {node->inode(), 0, {}, false}, 0};
}

std::string PassthroughFile::Path() const {
  const std::lock_guard lock(mutex_);
  return path_;
}

NodePtr PassthroughFile::MovedTo(const std::string& path) {
  const std::lock_guard lock(mutex_);
  path_ = path;
  return nullptr;
}

Entry PassthroughFile::EntryOf(const FileStatus& status) const {
  const auto links = std::min<std::uint64_t>(status.links, 1u << 31);
  Entry entry{
      id(), {inode(), status.size, status.modified, false, static_cast<std::uint32_t>(links)}, 0};
  entry.attributes.mode = status.mode & 0777;
  return entry;
}

std::shared_ptr<File> PassthroughFile::AnyOpen(bool write) const {
  const std::lock_guard lock(mutex_);
  for (const Opened& opened : opened_) {
    auto file = opened.write || !write ? opened.file.lock() : nullptr;
    if (file) return file;
  }
  return nullptr;
}

std::shared_ptr<StagedInode> PassthroughFile::WrittenHere() const {
  const std::lock_guard lock(mutex_);
  return written_here_.lock();
}

// Object stores are not checked: they know a file once it is open, or, while away, not even then.
Result<std::shared_ptr<File>> PassthroughFile::OpenSelf(OpenFlags flags) const {
  const VolumeParts& parts = superblock().parts;
  const bool checked =
      existence_ == Existence::kKnown && parts.store->capabilities().keeps_replaced_versions;
  if (!checked) return parts.files->Open(Path(), flags);
  const bool truncate = std::exchange(flags.truncate, false);
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, parts.files->Open(Path(), flags));
  if (file) {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
    if (IdentityOf(status) != identity_) file = nullptr;
  }
  if (!file) file = AnyOpen(flags.write);
  if (file && truncate) UNSHARD_RETURN_IF_ERROR(file->Truncate(0));
  return file;
}

Result<Entry> PassthroughFile::Stat() {
  if (const auto open = AnyOpen(false)) {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, open->Stat());
    return EntryOf(status);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto status, superblock().parts.files->Stat(Path()));
  if (status && IdentityOf(*status) == identity_) return EntryOf(*status);
  // Its commit has replaced the file, and the writer goes on.
  if (const auto staged = WrittenHere()) return StagedEntry(superblock(), id(), staged);
  return GoneFile();
}

Result<Entry> PassthroughFile::SetAttributes(OpenFile* file, const AttributeChange& change, pid_t) {
  if (!change.size && !change.mode && !change.modified) return Stat();  // chown(2)
  std::shared_ptr<File> open = file != nullptr ? file->source_file() : nullptr;
  if (!open) {
    OpenFlags flags;
    flags.write = change.size.has_value();
    flags.truncate = change.size && *change.size == 0;
    flags.attributes = !change.size;
    UNSHARD_ASSIGN_OR_RETURN(open, OpenSelf(flags));
    if (!open) return StaleName();
  }
  if (change.size) {
    open->DropPrivileges();
    UNSHARD_RETURN_IF_ERROR(open->Truncate(*change.size));
  }
  if (change.mode) UNSHARD_RETURN_IF_ERROR(open->SetMode(*change.mode));
  if (change.modified) UNSHARD_RETURN_IF_ERROR(open->SetModified(*change.modified));
  // No close(2) will flush what was opened here.
  if (file == nullptr) UNSHARD_RETURN_IF_ERROR(open->Flush());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, open->Stat());
  return EntryOf(status);
}

Result<OpenFilePtr> PassthroughFile::Open(const OpenRequest& request) {
  const std::string path = Path();
  DatasetTree& datasets = *superblock().parts.datasets;
  const bool document = request.write && datasets.HoldsPlainDocument(path) &&
                        datasets.HasPlainDocument(ParentPath(path), BaseName(path));
  if (document) return OpenDocument(path, request);
  OpenFlags flags;
  flags.write = request.write;
  flags.truncate = request.truncate;
  flags.create = existence_ == Existence::kUnknown && request.write && request.truncate;
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, OpenSelf(flags));
  if (!file) return StaleName();
  return OpenAs(std::move(file), request);
}

// The kernel may write to the file itself, so what a write takes away goes here already.
OpenFilePtr PassthroughFile::OpenAs(std::shared_ptr<File> file, const OpenRequest& request) {
  if (request.write) file->DropPrivileges();
  const std::lock_guard lock(mutex_);
  std::erase_if(opened_, [](const Opened& opened) { return opened.file.expired(); });
  opened_.push_back({file, request.write});
  const auto complete = [&sb = superblock(), id = id(), file]() -> Status {
    const NodePtr node = sb.At(id);
    return node ? sb.documents->CompleteInPlace(node->Path(), *file) : Status();
  };
  return std::make_unique<OpenSourceFile>(id(), request, file, complete);
}

Result<OpenFilePtr> PassthroughFile::OpenDocument(const std::string& path,
                                                  const OpenRequest& request) {
  Superblock& sb = superblock();
  const StagedInode::Document purpose{ParentPath(path), BaseName(path), true};
  const ChunkId of = StagedFiles::DocumentId(purpose);
  // No look-up can lead this open to another node: its thread has the number of all threads in
  // other pid namespaces, or it has no name to look up (/proc/self/fd).
  const bool stays = request.thread == 0 || sb.writers.WasAnsweredStale(request.thread, of, id());
  if (stays) sb.staged_files->RedirectsEnded(sb.writers.EndOpen(request.thread));
  auto staged = sb.writers.Latest(of);
  if (staged && !request.truncate && !stays && staged->Hold()) {
    return Join(sb, of, staged, id(), request);
  }
  if (staged && !request.truncate && stays) {
    const auto wait = [&] { return sb.writers.WaitForEnd(of, staged); };
    if (!RequestEpoch::Outside(wait)) return BeingWritten();
  }
  ContentPtr base;
  if (!request.truncate) {
    UNSHARD_ASSIGN_OR_RETURN(auto object,
                             ReadWhole(*sb.parts.store, path, kMaxDocumentBytes, CallerDeadline()));
    if (!object) return StaleName();
    base = MakeTextContent(std::make_shared<const std::string>(std::move(object->text)));
  }
  // Direct I/O where it is opened here: readers have this node open as the file of the source.
  staged = std::make_shared<StagedInode>(sb.writes->spool(), purpose, base, inode(), stays);
  if (stays) return OpenDocumentHere(staged, request);
  if (!staged->Hold()) return GoneFile();
  return Join(sb, of, staged, id(), request);
}

Result<OpenFilePtr> PassthroughFile::OpenDocumentHere(const std::shared_ptr<StagedInode>& staged,
                                                      const OpenRequest& request) {
  UNSHARD_RETURN_IF_ERROR(staged->Reserve());
  OpenFilePtr file = superblock().staged_files->Open(staged, id(), request);
  if (!file) return GoneFile();
  const std::lock_guard lock(mutex_);
  written_here_ = staged;
  return file;
}

Result<Entry> PassthroughFile::LinkTo(Name& to) { return to.LinkSource(Path()); }

}  // namespace unshard
