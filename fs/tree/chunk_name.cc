#include "fs/tree/chunk_name.h"

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_dentries.h"
#include "fs/tree/chunk_lookup.h"
#include "fs/tree/chunk_node.h"
#include "fs/tree/chunk_opening.h"
#include "fs/tree/scratch_name.h"
#include "fs/tree/source_name.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/stored_chunk.h"
#include "fs/tree/superblock.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

ChunkId IdOf(const ChunkName::Chunk& chunk) { return ChunkId::Of(*chunk.tree, chunk.ref); }

StagedInode::Chunk PurposeOf(const ChunkName::Chunk& chunk) {
  return {chunk.tree, chunk.ref, chunk.gzipped()};
}

// The modification time that readers get.
timespec TimeOf(const Superblock& sb, const ChunkName::Chunk& chunk, const ChunkRef& ref) {
  const WrittenVersionPtr version = sb.parts.written->Find(ChunkId::Of(*chunk.tree, ref));
  if (version) return sb.parts.written->ModifiedOf(*version);
  const auto generation = chunk.tree->chunks().Current(ref, CallerDeadline());
  return generation ? PresentedTime(sb, *chunk.tree, ref, *generation) : TimeNow();
}

bool OfOneArray(const ChunkName::Chunk& a, const ChunkName::Chunk& b) {
  return a.tree == b.tree && a.gzipped() == b.gzipped() &&
         (a.ref.part == ChunkPart::kFragments) == (b.ref.part == ChunkPart::kFragments);
}

}  // namespace

Result<Entry> ChunkName::Lookup(pid_t thread) {
  Superblock& sb = superblock();
  Entry absent = sb.Missing();
  if (chunk_.presented) {
    UNSHARD_ASSIGN_OR_RETURN(absent, LookupChunkName(sb, chunk_.tree, chunk_.ref, thread));
    if (absent.node != 0) return absent;
  }
  if (const auto scratch = LookupScratch(sb, directory(), name())) return *scratch;
  if (!otherwise_) return absent;
  UNSHARD_ASSIGN_OR_RETURN(Entry entry, otherwise_(thread));
  if (entry.node != 0) return entry;
  // The negative entry of a chunk that is being written must not outlive its creation.
  entry.timeout_milliseconds = std::min(entry.timeout_milliseconds, absent.timeout_milliseconds);
  return entry;
}

Result<bool> ChunkName::Exists() {
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now,
                           superblock().writes->current().Current(chunk_.tree, chunk_.ref));
  return now != nullptr;
}

Result<Created> ChunkName::Create(const OpenRequest& request) {
  Superblock& sb = superblock();
  if (request.exclusive) {
    UNSHARD_ASSIGN_OR_RETURN(const bool there, Exists());
    // After a close that failed the chunk is no longer being created, although its RELEASE may
    // still be on its way.
    const auto writers = sb.writers.All(IdOf(chunk_));
    const bool created = std::any_of(writers.begin(), writers.end(),
                                     [](const auto& staged) { return !staged->all_flushed(); });
    if (there || created) {
      return FailWith(EEXIST, ErrorCode::kInvalidArgument, path(),
                      there ? ": exists" : ": another program is creating this chunk");
    }
  }
  return CreateChunk(sb, PurposeOf(chunk_), request);
}

Result<Entry> ChunkName::MakeFile(pid_t, mode_t) {
  UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return FailWith(EPERM, ErrorCode::kPermissionDenied, path(),
                  ": mknod would create an empty chunk, which is never valid: create it with open "
                  "and O_CREAT, and write it before it is closed");
}

Result<Entry> ChunkName::MakeDirectory(mode_t) {
  return Fail(ErrorCode::kInvalidArgument, path(),
              ": this is the name of a chunk, so no directory can have it");
}

Status ChunkName::Remove() {
  UNSHARD_ASSIGN_OR_RETURN(const bool there, Exists());
  if (there) return CommitRemoval();
  // A chunk that is being created has no committed version, and now never gets one under this name.
  if (superblock().writers.HasWriter(IdOf(chunk_))) {
    Detach(nullptr);
    return {};
  }
  return FailWith(ENOENT, ErrorCode::kNotFound, path(), ": is gone");
}

Status ChunkName::CommitRemoval() {
  Superblock& sb = superblock();
  UNSHARD_RETURN_IF_ERROR(CanWriteChunk(sb, *chunk_.tree, chunk_.ref));
  WritePipeline::Commit removal;
  removal.tree = chunk_.tree;
  removal.chunk = chunk_.ref;
  removal.modified = TimeNow();
  const bool drop = PlainNameIsRemembered(sb, PurposeOf(chunk_));
  UNSHARD_RETURN_IF_ERROR(sb.writes->CommitRemoval(removal));
  if (drop) DropPlainName(sb, *chunk_.tree, chunk_.ref);
  Detach(nullptr);
  return {};
}

void ChunkName::Detach(const Chunk* renamed) const {
  Superblock& sb = superblock();
  for (const auto& staged : sb.writers.All(IdOf(chunk_))) {
    StagedInode::Purpose purpose = StagedInode::Scratch{};
    const auto writes = staged->chunk();
    // A writer in another view goes on writing what that view presents.
    if (renamed != nullptr && writes) {
      purpose = StagedInode::Chunk{writes->tree, renamed->ref, renamed->gzipped()};
    }
    sb.staged_files->ChangePurpose(staged, std::move(purpose));
  }
  sb.writers.ForgetEmptied(IdOf(chunk_));
}

Status ChunkName::Commit(const std::shared_ptr<StagedInode>& staged) {
  Superblock& sb = superblock();
  UNSHARD_RETURN_IF_ERROR(CanWriteChunk(sb, *chunk_.tree, chunk_.ref));
  const bool drop = PlainNameIsRemembered(sb, PurposeOf(chunk_));
  UNSHARD_RETURN_IF_ERROR(CommitAs(sb, staged, PurposeOf(chunk_)));
  if (drop) DropPlainName(sb, *chunk_.tree, chunk_.ref);
  return {};
}

Status ChunkName::TakeScratch(const ScratchName& from, bool replace) {
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return from.BecomeBy([&](const auto& staged) { return Commit(staged); }, *this);
}

Status ChunkName::TakeSource(const SourceName& from, bool replace) {
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return from.BecomeBy([&](const auto& staged) -> Status {
    UNSHARD_RETURN_IF_ERROR(Commit(staged));
    // The file that is removed from the source may have been durable, so the version must be.
    return superblock().writes->SyncInSpool(*chunk_.tree, chunk_.ref);
  });
}

// Of several links that race for the name one succeeds.
Status ChunkName::LinkScratch(const std::shared_ptr<StagedInode>& staged) {
  const std::lock_guard lock(superblock().links_mutex);
  UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return Commit(staged);
}

// After the rename the kernel moves its dentry to the new name, with its node and time to live, but
// the new name must be looked up at its next use. So where the dentry may have time to live we
// answer ESTALE: the kernel looks the old name up again, which leaves the dentry no time to live
// (fs/write/node_choice.h), and repeats the rename.
Status ChunkName::TakeChunk(const ChunkName& from, bool replace) {
  Superblock& sb = superblock();
  const Chunk& source = from.chunk();
  if (!OfOneArray(source, chunk_)) return Name::TakeChunk(from, replace);
  if (chunk_.ref == source.ref) return {};
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  ChunkRef plain = source.ref;
  if (plain.part == ChunkPart::kStored) plain.part = ChunkPart::kPlain;
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content,
                           sb.writes->current().Current(source.tree, plain));
  if (!content) return FailWith(ENOENT, ErrorCode::kNotFound, from.path(), ": is gone");
  if (!sb.choice.IsContended(IdOf(source)) && MayBeRemembered(sb, PurposeOf(source))) {
    sb.choice.NoteStale(IdOf(source));
    return StaleName();
  }
  StagedInode copy(sb.writes->spool(), StagedInode::Chunk{chunk_.tree, chunk_.ref, false}, content,
                   InodeOfChunk(sb, *chunk_.tree, chunk_.ref));
  copy.SetModified(TimeOf(sb, source, plain));
  const WritePipeline::Commit put{chunk_.tree, chunk_.ref, false, copy.modified(), copy.inode()};
  WritePipeline::Commit removal{source.tree, source.ref, false, TimeNow()};
  const bool drop_from = PlainNameIsRemembered(sb, PurposeOf(source));
  const bool drop_to = PlainNameIsRemembered(sb, PurposeOf(chunk_));
  UNSHARD_RETURN_IF_ERROR(copy.CommitWith([&](StagedFile& bytes) -> Status {
    // The bytes that are removed are those that have just been copied.
    if (const auto stored_in = content->stored_in()) {
      UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t checksum, bytes.Checksum());
      removal.replaces = std::make_shared<const StoredChunkPrint>(
          StoredChunkPrint{{false, bytes.size(), checksum}, stored_in});
    }
    return sb.writes->CommitMove(put, bytes, removal);
  }));
  sb.writers.ForgetEmptied(IdOf(chunk_));
  from.Detach(&chunk_);
  if (drop_from) DropPlainName(sb, *source.tree, source.ref);
  if (drop_to) DropPlainName(sb, *chunk_.tree, chunk_.ref);
  return {};
}

}  // namespace unshard
