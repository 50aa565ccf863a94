#include "fs/tree/name.h"

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_name.h"
#include "fs/tree/scratch_name.h"
#include "fs/tree/superblock.h"

namespace unshard {

std::string Name::path() const { return JoinPath(directory_, name_); }

Result<Entry> Name::Lookup(pid_t) { return superblock_.Missing(); }

Result<Created> Name::Create(const OpenRequest&) { return Refuse(); }

Result<Entry> Name::MakeFile(pid_t thread, mode_t mode) {
  OpenRequest request;
  request.write = true;
  request.exclusive = true;
  request.thread = thread;
  request.mode = mode;
  UNSHARD_ASSIGN_OR_RETURN(const Created created, Create(request));
  return created.entry;
}

Status Name::Remove() { return Refuse(); }

Result<Entry> Name::MakeDirectory(mode_t) { return Refuse(); }

Status Name::RemoveDirectory(pid_t) { return Refuse(); }

Result<Entry> Name::LookupRemovable(pid_t thread, const std::function<Result<bool>()>& is_empty,
                                    const std::function<Result<Entry>()>& lookup) const {
  const pid_t missing_for = superblock_.removed.MissingFor(path());
  if (missing_for == 0) return lookup();
  if (missing_for == thread) {
    UNSHARD_ASSIGN_OR_RETURN(const bool empty, is_empty());
    if (empty) return Entry{0, {}, 0};
  }
  UNSHARD_ASSIGN_OR_RETURN(Entry entry, lookup());
  entry.timeout_milliseconds = 0;
  return entry;
}

Status Name::MustBeNew() {
  UNSHARD_ASSIGN_OR_RETURN(const bool there, Exists());
  if (!there) return {};
  return FailWith(EEXIST, ErrorCode::kInvalidArgument, path(), ": exists");
}

Status Name::RenameTo(Name&, bool) { return Refuse(); }

Status Name::TakeScratch(const ScratchName&, bool) { return Refuse(); }

Status Name::TakeChunk(const ChunkName& from, bool) {
  return FailWith(EXDEV, ErrorCode::kNotSupported, from.path(),
                  ": a chunk cannot be moved out of its array; copy it");
}

Status Name::TakeSource(const SourceName&, bool) { return Refuse(); }

Status Name::TakeGridDirectory(const std::string& from) {
  return FailWith(EXDEV, ErrorCode::kNotSupported, from,
                  ": directories of chunks cannot be renamed");
}

Result<Entry> Name::LinkSource(const std::string&) {
  return FailWith(EXDEV, ErrorCode::kNotSupported, path(), ": is not a file of the source");
}

Status Name::LinkScratch(const std::shared_ptr<StagedInode>&) { return Refuse(); }

tl::unexpected<Error> Name::Refuse() const {
  return FailWith(EPERM, ErrorCode::kPermissionDenied, path(), ": this name belongs to the mount");
}

// A scratch file may have been created before the array got this shape.
Result<Entry> NoChunkName::Lookup(pid_t thread) {
  if (const auto scratch = LookupScratch(superblock(), directory(), name())) return *scratch;
  return otherwise_ ? otherwise_(thread) : superblock().Missing();
}

Status NoChunkName::TakeChunk(const ChunkName&, bool) { return Refuse(); }

tl::unexpected<Error> NoChunkName::Refuse() const {
  return Fail(ErrorCode::kInvalidArgument, path(),
              ": looks like the name of a chunk, but the grid has no such chunk");
}

Result<Entry> BrokenName::Lookup(pid_t) {
  UNSHARD_ASSIGN_OR_RETURN(const auto there,
                           superblock().parts.store->Stat(path(), CallerDeadline()));
  if (!there) return superblock().Missing();
  const bool damaged = fault_.code == ErrorCode::kDataLoss;
  return Fail(damaged ? ErrorCode::kDataLoss : ErrorCode::kUnavailable, fault_.message);
}

tl::unexpected<Error> BrokenName::Refuse() const { return tl::unexpected<Error>(fault_); }

}  // namespace unshard
