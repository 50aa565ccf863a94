#include "store/files/file_publishing.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "codec/core/checksum.h"
#include "store/object/log.h"
#include "store/publish/jitter.h"

namespace unshard {
namespace {

using Done = PublishQueue::Done;

constexpr int kAttempts = 8;
constexpr std::chrono::milliseconds kFirstPause{10};
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

Result<std::uint32_t> ChecksumOfObject(ObjectVersion& object) {
  const std::uint64_t size = object.info().size;
  std::uint32_t sum = 0;
  for (std::uint64_t at = 0; at < size; at += kPieceBytes) {
    const std::uint64_t piece = std::min(kPieceBytes, size - at);
    UNSHARD_ASSIGN_OR_RETURN(const ReadResult read,
                             object.Read(RangeRequest::At(at, piece), CallerDeadline()));
    if (read.state != ReadResult::State::kFound || read.value.size() != piece) {
      return Fail(ErrorCode::kConflict, "the object was replaced while it was compared");
    }
    sum = ExtendChecksum(sum, read.value.span());
  }
  return sum;
}

// Whether an object has these bytes. Reads them only where their number is right.
Result<bool> HasBytes(const std::shared_ptr<ObjectVersion>& object,
                      const ChunkFingerprint& expected) {
  if (!object || expected.absent) return !object && expected.absent;
  if (object->info().size != expected.size) return false;
  UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t sum, ChecksumOfObject(*object));
  return sum == expected.checksum;
}

std::optional<ObjectInfo> InfoOf(const std::shared_ptr<ObjectVersion>& object) {
  if (!object) return std::nullopt;
  return object->info();
}

constexpr const char* kChangedByOthers =
    "another host has changed this file since this mount read it, so the file was not replaced";

}  // namespace

Result<FilePublishing::Found> FilePublishing::Compare(
    const WaitingFile& file, const FileState& state,
    const std::shared_ptr<ObjectVersion>& stored) const {
  const ChunkFingerprint print = StoredPrint(InfoOf(stored));
  const SealTerms& terms = file.chunk.terms;
  if (file.removed() && !stored) return Found::kSame;
  if (print == terms.base || print == state.also_stored) return Found::kReplaced;
  // The store was unreachable: the writer could not know which object it would replace.
  if (terms.base.unknown && (!stored || !strict_)) return Found::kReplaced;
  UNSHARD_ASSIGN_OR_RETURN(const bool same, HasBytes(stored, ContentPrint(file)));
  if (same) return Found::kSame;
  if (!terms.other_base) return Found::kChanged;
  UNSHARD_ASSIGN_OR_RETURN(const bool earlier, HasBytes(stored, *terms.other_base));
  return earlier ? Found::kReplaced : Found::kChanged;
}

Result<bool> FilePublishing::WasPut(const std::string& key, const WaitingFile& file) {
  if (!attempts_.Knows(key)) return false;
  UNSHARD_ASSIGN_OR_RETURN(const auto published, attempts_.Published(key));
  return published.contains({file.spool, file.chunk.sequence});
}

Result<Done> FilePublishing::Publish(std::uint64_t number, const Deadline& deadline) {
  FileTable& table = files_->table();
  const auto key = table.KeyOfNumber(number);
  if (!key) return Done{0, 0, false};
  FileState state;
  table.Update(*key, [&](FileState& at) {
    at.publishing = at.waiting;
    state = at;
  });
  const WaitingPtr file = state.waiting;
  if (!file) return Done{0, 0, false};
  const auto run = [&]() -> Result<Done> {
    UNSHARD_RETURN_IF_ERROR(file->spool->PrepareToPublish({file->chunk}));
    UNSHARD_ASSIGN_OR_RETURN(const bool was_put, WasPut(*key, *file));
    if (was_put) {
      UNSHARD_ASSIGN_OR_RETURN(const auto stored, files_->store().Stat(*key, deadline));
      return End(*key, file, stored);
    }
    for (int i = 0; i < kAttempts; ++i) {
      if (i > 0) WaitWithJitter(i, kFirstPause, deadline);
      UNSHARD_ASSIGN_OR_RETURN(const Put put, PutOnce(*key, file, state, deadline));
      if (put.done) return End(*key, file, put.stored);
    }
    return Fail(ErrorCode::kConflict, files_->Describe(*key), ": other hosts keep replacing it");
  };
  auto done = run();
  if (done) return done;
  WaitingPtr superseded;
  table.Update(*key, [&](FileState& at) {
    at.publishing = nullptr;
    if (at.waiting != file) superseded = file;
  });
  if (superseded) (void)superseded->spool->Discard(superseded->chunk);
  return done;
}

Result<FilePublishing::Put> FilePublishing::PutOnce(const std::string& key, const WaitingPtr& file,
                                                    const FileState& state,
                                                    const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto replacement,
                           files_->replacer().Begin({key, std::nullopt}, deadline));
  UNSHARD_ASSIGN_OR_RETURN(const Found found, Compare(*file, state, replacement->base()));
  if (found == Found::kSame) {
    UNSHARD_RETURN_IF_ERROR(replacement->MakeDurable());
    return Put{true, InfoOf(replacement->base())};
  }
  if (found == Found::kChanged && (strict_ || file->adopted)) return Quarantine(key, file);
  UNSHARD_ASSIGN_OR_RETURN(Committed committed, Commit(key, file, *replacement));
  switch (committed.outcome) {
    case Committed::Outcome::kConditionFailed:
      return Put{};
    case Committed::Outcome::kUnknown:
      return Forward(std::move(committed.reason),
                     files_->Describe(key) + ": it is not known whether it was replaced");
    case Committed::Outcome::kCommitted:
      break;
  }
  UNSHARD_RETURN_IF_ERROR(replacement->MakeDurable());
  if (found == Found::kChanged) {
    ++counters_.conflicts;
    LogWarning(files_->Describe(key) +
               ": had been changed by another host; the version written here has replaced it");
  }
  counters_.bytes_published += file->chunk.size;
  return Put{true, std::move(committed.object)};
}

Result<Committed> FilePublishing::Commit(const std::string& key, const WaitingPtr& file,
                                         ObjectReplacement& replacement) {
  const auto committing = [&]() -> Status {
    return attempts_.Record(key, replacement.attempt(), {{file->spool, file->chunk.sequence}});
  };
  if (file->removed()) return replacement.Remove(committing);
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> bytes, file->spool->Open(file->chunk));
  UNSHARD_ASSIGN_OR_RETURN(
      const std::uint32_t sum,
      ReadWithChecksum(*bytes, {0, file->chunk.size}, 0, [&](std::uint64_t at, ByteSpan piece) {
        return replacement.Write(at, piece);
      }));
  if (sum != file->chunk.checksum) {
    return Fail(ErrorCode::kDataLoss, file->spool->Describe(file->chunk),
                ": its bytes are not those that were written");
  }
  return replacement.Commit(committing);
}

// Step 4.
Done FilePublishing::End(const std::string& key, const WaitingPtr& file,
                         const std::optional<ObjectInfo>& stored) {
  const ChunkFingerprint print = StoredPrint(stored);
  files_->table().Update(key, [&](FileState& state) {
    state.publishing = nullptr;
    const bool latest = state.waiting == file;
    if (latest) state.waiting = nullptr;
    state.also_stored = latest ? std::nullopt : std::optional(print);
    if (!latest && state.inode) state.inode->SetInStore({std::nullopt, print});
    if (!latest) return;
    const auto generation = stored ? std::optional(stored->generation) : std::nullopt;
    if (state.inode) state.inode->SetInStore({generation, print});
    if (state.remembered && generation) state.remembered->generation = generation;
    if (state.remembered && !generation) state.remembered.reset();
  });
  if (const Status gone = file->spool->Discard(file->chunk); !gone) {
    LogWarning(gone.error().message);
  }
  attempts_.Forget(key);
  files_->store().Replaced(key, stored);
  files_->StoreChanged(key);
  return {1, file->chunk.size, true};
}

// Where its spool cannot move it, it goes on waiting: the next publish tries again.
tl::unexpected<Error> FilePublishing::Quarantine(const std::string& key, const WaitingPtr& file) {
  const std::string described = file->spool->Describe(file->chunk);
  const Status moved = file->spool->Quarantine(file->chunk);
  if (!moved && moved.error().code != ErrorCode::kNotFound) {
    return Forward(moved.error(), described + ": " + kChangedByOthers +
                                      "; what was written here cannot be quarantined");
  }
  ++counters_.conflicts;
  bool latest = false;
  files_->table().Update(key, [&](FileState& state) {
    latest = state.waiting == file;
    if (latest) state.waiting = nullptr;
  });
  if (latest) files_->Withdrawn(key, *file);
  return Fail(ErrorCode::kConflict, described, ": ", kChangedByOthers, kIsQuarantined);
}

void FilePublishing::Replay(const std::shared_ptr<Spool>& spool, const SpooledChunk& chunk) {
  const std::string key = KeyOf(chunk);
  const auto file = std::make_shared<const WaitingFile>(WaitingFile{spool, chunk, true});
  const auto was_put = WasPut(key, *file);
  const auto opened = files_->store().Open(key, RangeRequest::At(0, 0), CallerDeadline());
  // A store that does not answer is asked again when the file is put.
  if (!was_put || !opened) return files_->Adopt(file);
  const auto found =
      *was_put ? Result<Found>(Found::kSame) : Compare(*file, FileState(), opened->version);
  const bool earlier_put = attempts_.Knows(key) && !*was_put;
  if (found && *found == Found::kSame) {
    if (const Status gone = spool->Discard(chunk); !gone) LogWarning(gone.error().message);
    attempts_.Forget(key);
  } else if (found && *found == Found::kChanged && !earlier_put) {
    ++counters_.conflicts;
    LogWarning(spool->Describe(chunk) + ": " + kChangedByOthers + kIsQuarantined);
    if (const Status moved = spool->Quarantine(chunk); !moved) LogError(moved.error().message);
  } else {
    files_->Adopt(file);
  }
}

}  // namespace unshard
