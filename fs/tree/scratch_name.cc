#include "fs/tree/scratch_name.h"

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_name.h"
#include "fs/tree/scratch_directory.h"
#include "fs/tree/source_name.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

tl::unexpected<Error> IsGone(const Name& name) {
  return FailWith(ENOENT, ErrorCode::kNotFound, name.path(), ": is gone");
}

tl::unexpected<Error> RefuseOnlyCopy(const std::string& scratch, const std::string& from) {
  return FailWith(
      EPERM, ErrorCode::kPermissionDenied, from, ": cannot be renamed to ", scratch,
      ", a scratch name, which ends with the mount: ", "copy it to a place outside of the mount");
}

tl::unexpected<Error> IsDirectory(const Name& name) {
  return FailWith(EISDIR, ErrorCode::kInvalidArgument, name.path(), ": is a directory");
}

}  // namespace

std::optional<Entry> LookupScratch(Superblock& superblock, const std::string& directory,
                                   std::string_view name) {
  if (!superblock.writable()) return std::nullopt;
  const ScratchFiles::Found found = superblock.scratch.Find(directory, name);
  if (found.directory) return ReferScratchDirectory(superblock, found.directory);
  if (!found.file) return std::nullopt;
  return ReferStaged(superblock, found.file);
}

ScratchFiles::Found ScratchName::Find() const {
  return superblock().scratch.Find(directory(), name());
}

Result<Entry> ScratchName::Lookup(pid_t) {
  return LookupScratch(superblock(), directory(), name()).value_or(Entry{0, {}, absence_});
}

Result<Created> ScratchName::Create(const OpenRequest& request) {
  Superblock& sb = superblock();
  const ScratchFiles::Found found = Find();
  if (found && request.exclusive) {
    return FailWith(EEXIST, ErrorCode::kInvalidArgument, path(), ": exists");
  }
  if (found.directory) return IsDirectory(*this);
  auto staged = found.file;
  if (!staged) {
    const std::uint64_t number = ++sb.scratch_files;
    staged = std::make_shared<StagedInode>(
        sb.writes->spool(), StagedInode::Scratch{}, nullptr,
        StableInode("scratch:" + std::to_string(number) + ':' + path()));
    UNSHARD_RETURN_IF_ERROR(staged->Reserve());
    // Another program has taken the name meanwhile, and may have removed it again.
    if (!sb.scratch.Add(directory(), name(), staged)) staged = Find().file;
    if (!staged) return StaleName();
  }
  const NodeId node = ReferStaged(sb, staged).node;
  auto file = OpenStaged(sb, node, staged, request);
  if (!file) {
    sb.Forget(node, 1);
    return tl::unexpected<Error>(std::move(file).error());
  }
  return Created{StagedEntry(sb, node, staged), *std::move(file)};
}

Status ScratchName::Remove() {
  if (const auto staged = superblock().scratch.Remove(directory(), name())) {
    if (staged->opens() == 0) superblock().staged_files->End(staged);
    return {};
  }
  if (Find()) return IsDirectory(*this);
  return IsGone(*this);
}

Result<Entry> ScratchName::MakeDirectory(mode_t) {
  UNSHARD_ASSIGN_OR_RETURN(const auto made,
                           superblock().scratch.MakeDirectory(directory(), name()));
  return ReferScratchDirectory(superblock(), made);
}

Status ScratchName::RemoveDirectory(pid_t) {
  return superblock().scratch.RemoveDirectory(directory(), name());
}

Status ScratchName::RenameTo(Name& to, bool replace) {
  if (!Find()) return IsGone(*this);
  return to.TakeScratch(*this, replace);
}

Status ScratchName::TakeScratch(const ScratchName& from, bool replace) {
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return superblock().scratch.Rename(from.directory(), from.name(), directory(), name());
}

Status ScratchName::TakeChunk(const ChunkName& from, bool) {
  return RefuseOnlyCopy(path(), from.path());
}

Status ScratchName::TakeGridDirectory(const std::string& from) {
  return RefuseOnlyCopy(path(), from);
}

Status ScratchName::TakeSource(const SourceName& from, bool replace) {
  if (from.directory() != directory() || Find()) return RefuseOnlyCopy(path(), from.path());
  return SourceName(superblock(), directory(), name()).TakeSource(from, replace);
}

Status ScratchName::LinkScratch(const std::shared_ptr<StagedInode>& staged) {
  if (superblock().scratch.Add(directory(), name(), staged)) return {};
  return FailWith(EEXIST, ErrorCode::kInvalidArgument, path(), ": exists");
}

Status ScratchName::BecomeBy(
    const std::function<Status(const std::shared_ptr<StagedInode>&)>& commit,
    const Name& to) const {
  const ScratchFiles::Found found = Find();
  if (found.directory) {
    return FailWith(EXDEV, ErrorCode::kNotSupported, to.path(),
                    ": a scratch directory cannot be moved away from its chunks");
  }
  if (!found.file) return IsGone(*this);
  UNSHARD_RETURN_IF_ERROR(commit(found.file));
  superblock().scratch.Remove(directory(), name());
  if (found.file->opens() == 0) superblock().staged_files->End(found.file);
  return {};
}

}  // namespace unshard
