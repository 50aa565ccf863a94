#include "fs/tree/source_name.h"

#include "codec/core/text.h"
#include "fs/common/request_failures.h"
#include "fs/tree/away_store.h"
#include "fs/tree/passthrough_file.h"
#include "fs/tree/source_directory.h"
#include "fs/tree/source_file.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"
#include "store/object/log.h"
#include "store/source/all_views.h"

namespace unshard {
namespace {

tl::unexpected<Error> IsGone(const std::string& path) {
  return FailWith(ENOENT, ErrorCode::kNotFound, path, ": is gone");
}

// Creates, before a file is put into it, a directory that is presented because chunks belong into
// it.
Status MakePresentedDirectory(Superblock& sb, const std::string& path) {
  const auto overlay = sb.parts.datasets->Find(path);
  if (!overlay || (overlay->trees.empty() && overlay->virtual_children.empty())) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto status, sb.parts.files->Stat(path));
  return status ? Status() : MakeDirectories(*sb.parts.files, path);
}

// Whether nothing is in a directory that chunks belong into.
Result<bool> HoldsNothing(Superblock& sb, const std::string& path) {
  return SourceDirectory(sb, kNoNode, 0, path, false).IsEmpty();
}

}  // namespace

bool SourceName::IsPlainDocument() const {
  return superblock().parts.datasets->HoldsPlainDocument(path());
}

Result<bool> SourceName::Exists() {
  UNSHARD_ASSIGN_OR_RETURN(const auto status, superblock().parts.files->Stat(path()));
  return status.has_value();
}

Result<Entry> SourceName::Lookup(pid_t thread) {
  Superblock& sb = superblock();
  if (presented_ == Presented::kHidden) return sb.Missing();
  return LookupRemovable(
      thread, [&] { return HoldsNothing(sb, path()); }, [this] { return LookupPresented(); });
}

Result<Entry> SourceName::LookupPresented() const {
  Superblock& sb = superblock();
  sb.parts.watcher->Watch(directory());
  if (presented_ == Presented::kNeeded)
    return ReferDirectory(sb, path(), false, sb.ModifiedOf(path()));
  if (sb.writable()) {
    auto found = StatBriefly(sb, path());
    if (!found && IsStoreAway(sb, found.error())) return LookupUnknown(found.error());
    UNSHARD_ASSIGN_OR_RETURN(const auto status, std::move(found));
    if (!status || status->kind == FileStatus::Kind::kOther) return LookupNothing({0, {}, 0});
    if (status->kind == FileStatus::Kind::kFile) {
      return ReferPassthroughFile(sb, path(), *status)->EntryOf(*status);
    }
    Entry entry = ReferDirectory(sb, path(), opaque_, status->modified);
    if (ShowsModeOfSource(sb, path())) entry.attributes.mode = status->mode & 0777;
    return entry;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto info, sb.parts.store->Stat(path(), CallerDeadline()));
  if (!info || info->kind == ObjectInfo::Kind::kOther) return LookupNothing(sb.Missing());
  if (info->kind == ObjectInfo::Kind::kDirectory) {
    return ReferDirectory(sb, path(), opaque_, info->modified);
  }
  return ReferSourceFile(sb, path(), *info);
}

Result<Entry> SourceName::LookupNothing(const Entry& missing) const {
  const Superblock& sb = superblock();
  if (sb.options.view != kAllViews || !directory().empty()) return missing;
  const auto& refused = sb.parts.datasets->refused_views();
  const auto view = refused.find(name());
  if (view == refused.end()) return missing;
  return FailWith(ENOENT, ErrorCode::kNotFound,
                  "this view cannot show the source: ", view->second.message);
}

// A name that is taken for a file can be written while the store is away. A directory must not be
// taken for a file, because programs would take what is in it for absent: names that may be one
// cannot be looked up.
Result<Entry> SourceName::LookupUnknown(const Error& error) const {
  Superblock& sb = superblock();
  sb.writes->FoundStoreAway(error);
  if (sb.parts.datasets->index().ServesTreesIn(path())) {
    return ReferDirectory(sb, path(), opaque_, sb.ModifiedOf(path()));
  }
  // In an array: a part of a nested chunk key.
  const bool is_number = IsDigits(name());
  if (is_number || name() == "c") return tl::unexpected<Error>(error);
  return ReferUnknownFile(sb, path());
}

Result<Created> SourceName::Create(const OpenRequest& request) {
  Superblock& sb = superblock();
  UNSHARD_RETURN_IF_ERROR(MakePresentedDirectory(sb, directory()));
  OpenFlags flags;
  flags.write = true;
  flags.create = true;
  flags.exclusive = request.exclusive;
  flags.truncate = request.truncate;
  flags.mode = request.mode;
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, sb.parts.files->Open(path(), flags));
  if (!file) return Fail(ErrorCode::kConflict, "the file is gone");
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  const auto node = ReferPassthroughFile(sb, path(), status);
  return Created{node->EntryOf(status), node->OpenAs(std::move(file), request)};
}

Status SourceName::Remove() {
  UNSHARD_ASSIGN_OR_RETURN(const bool removed, superblock().parts.files->Remove(path()));
  if (removed) return {};
  return IsGone(path());
}

Result<Entry> SourceName::MakeDirectory(mode_t mode) {
  Superblock& sb = superblock();
  UNSHARD_RETURN_IF_ERROR(MakePresentedDirectory(sb, directory()));
  const bool again = sb.removed.Made(path());
  UNSHARD_ASSIGN_OR_RETURN(const bool made, sb.parts.files->MakeDirectory(path(), mode));
  if (!made && !again) return FailWith(EEXIST, ErrorCode::kInvalidArgument, path(), ": exists");
  return Lookup(0);
}

// Directories that chunks belong into always exist: removing such a directory only checks that it
// is empty, and hides it from the thread that removes it (fs/tree/removed_directories.h).
Status SourceName::RemoveDirectory(pid_t thread) {
  Superblock& sb = superblock();
  const auto overlay = sb.parts.datasets->Find(path());
  if (overlay && !overlay->trees.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const bool empty, HoldsNothing(sb, path()));
    if (!empty) return FailWith(ENOTEMPTY, ErrorCode::kInvalidArgument, path(), ": is not empty");
    sb.removed.Add(path(), thread);
  } else {
    UNSHARD_ASSIGN_OR_RETURN(const bool removed, sb.parts.files->Remove(path()));
    if (!removed) return IsGone(path());
  }
  // The kernel has marked its inode dead (S_DEAD).
  sb.nodes.Disown(NodeTable::DirectoryIdentity(path()));
  return {};
}

Status SourceName::TakeScratch(const ScratchName&, bool) {
  return FailWith(EXDEV, ErrorCode::kNotSupported, path(),
                  ": scratch files can only be renamed onto chunks; copy it");
}

// The document of a dataset stays as it is, with its inode and its time, unless it embeds copies
// of sharded arrays.
Status SourceName::TakeSource(const SourceName& from, bool replace) {
  Superblock& sb = superblock();
  if (!IsPlainDocument()) return RenameInSource(sb, from, *this, replace);
  UNSHARD_ASSIGN_OR_RETURN(const auto status, sb.parts.files->Stat(from.path()));
  const bool file = status && status->kind == FileStatus::Kind::kFile;
  if (!file) return RenameInSource(sb, from, *this, replace);
  UNSHARD_ASSIGN_OR_RETURN(const bool complete, sb.documents->IsComplete(from.path(), path()));
  if (complete) return RenameInSource(sb, from, *this, replace);
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return from.BecomeBy([&](const auto& staged) {
    return CommitAs(sb, staged, StagedInode::Document{directory(), name(), true});
  });
}

Result<Entry> SourceName::LinkSource(const std::string& existing) {
  Superblock& sb = superblock();
  if (IsPlainDocument()) {
    UNSHARD_ASSIGN_OR_RETURN(const bool complete, sb.documents->IsComplete(existing, path()));
    if (!complete) {
      return FailWith(EPERM, ErrorCode::kPermissionDenied, path(),
                      ": embeds copies of sharded arrays, which are stored in another form: write "
                      "it, or rename a file onto it");
    }
  }
  UNSHARD_RETURN_IF_ERROR(MakePresentedDirectory(sb, directory()));
  UNSHARD_RETURN_IF_ERROR(sb.parts.files->Link(existing, path()));
  UNSHARD_ASSIGN_OR_RETURN(const auto status, sb.parts.files->Stat(path()));
  if (!status) return Fail(ErrorCode::kConflict, "the directory is gone");
  return ReferPassthroughFile(sb, path(), *status)->EntryOf(*status);
}

Status SourceName::LinkScratch(const std::shared_ptr<StagedInode>&) {
  return FailWith(EXDEV, ErrorCode::kNotSupported, path(), ": is not a scratch name");
}

Status SourceName::BecomeBy(const CommitStaged& commit) const {
  Superblock& sb = superblock();
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, sb.parts.files->Open(path(), {}));
  if (!file) return IsGone(path());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.kind != FileStatus::Kind::kFile) {
    return FailWith(ENOTDIR, ErrorCode::kInvalidArgument, path(), ": is not a file");
  }
  const auto staged = std::make_shared<StagedInode>(
      sb.writes->spool(), StagedInode::Scratch{}, MakeFileContent(file, status.size),
      StableInode(PassthroughFile::IdentityOf(status)));
  staged->SetModified(status.modified);
  UNSHARD_RETURN_IF_ERROR(commit(staged));
  // The kernel moves the file's dentry to the new name, where it has no time to live.
  const auto removed = sb.parts.files->Remove(path());
  if (!removed) LogWarning(removed.error().message);
  return {};
}

Status RenameInSource(Superblock& sb, const SourceName& from, Name& to, bool replace) {
  for (const Name* name : {static_cast<const Name*>(&from), static_cast<const Name*>(&to)}) {
    // A dataset that is renamed under its mount would separate its chunks in the spool from their
    // source.
    if (!sb.parts.datasets->index().ServesTreesIn(name->path())) continue;
    return FailWith(EBUSY, ErrorCode::kPermissionDenied, name->path(),
                    ": holds a sharded dataset that this mount serves: rename it ",
                    "in the source, or copy it");
  }
  if (!replace) UNSHARD_RETURN_IF_ERROR(to.MustBeNew());
  UNSHARD_RETURN_IF_ERROR(MakePresentedDirectory(sb, to.directory()));
  std::vector<std::string> moved;
  {
    const DirectoryMoves::Move move(sb.directory_moves);
    UNSHARD_RETURN_IF_ERROR(sb.parts.files->Rename(from.path(), to.path()));
    moved = sb.nodes.Move(from.path(), to.path());
  }
  for (const std::string& directory : moved) sb.parts.watcher->Watch(directory);
  return {};
}

}  // namespace unshard
