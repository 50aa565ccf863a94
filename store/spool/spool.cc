#include "store/spool/spool.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "store/object/object_store.h"
#include "store/spool/attempts.h"
#include "store/spool/move.h"
#include "store/spool/owner.h"
#include "store/spool/recovery.h"
#include "store/spool/sealed_name.h"
#include "store/spool/staged_file.h"
#include "store/spool/state.h"
#include "store/spool/sync.h"

namespace unshard {
namespace {

// Longer than any seal: five sequences or lengths below 10^15, four more numbers of eight digits.
constexpr std::size_t kMaxSeal = 128;
constexpr std::array<const char*, 5> kTops = {kStagingDirectory, kChunksDirectory,
                                              kConflictsDirectory, kDamagedDirectory,
                                              kAttemptsDirectory};

}  // namespace

Status CheckSealNames(const std::string& dataset, const std::string& chunk) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(dataset));
  UNSHARD_RETURN_IF_ERROR(CheckKey(chunk));
  if (chunk.empty()) return Fail(ErrorCode::kInvalidArgument, "a chunk without a name");
  if (EscapeName(chunk).size() + kMaxSeal <= kMaxFileName) return {};
  return FailErrno(ENAMETOOLONG, chunk + ": sealing the chunk");
}

Spool::Spool(std::unique_ptr<State> state) : state_(std::move(state)) {}
Spool::~Spool() = default;

Result<std::unique_ptr<Spool>> Spool::Open(std::shared_ptr<FileSystem> files,
                                           const SpoolOptions& options) {
  UNSHARD_RETURN_IF_ERROR(CheckSpoolRoot(*files));
  auto state = std::make_unique<State>(std::move(files), options);
  UNSHARD_ASSIGN_OR_RETURN(
      state->owner, AcquireOwnership(*state->files, ThisProcess(options.source, options.identity)));
  for (const char* top : kTops) {
    UNSHARD_RETURN_IF_ERROR(state->files->MakeDirectory(top));
  }
  UNSHARD_RETURN_IF_ERROR(state->files->SyncDirectory(""));
  UNSHARD_RETURN_IF_ERROR(RecoverSpool(*state));
  state->LookAtDisk();
  return std::unique_ptr<Spool>(new Spool(std::move(state)));
}

std::vector<SpooledChunk> Spool::TakeRecovered() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->recovered, {});
}

Result<std::shared_ptr<StagedFile>> Spool::Stage() { return StageFile(true); }

Result<std::shared_ptr<StagedFile>> Spool::Reserve() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->staged_files >= state_->options.max_descriptors) {
      return FailErrno(EMFILE, std::to_string(state_->staged_files) +
                                   " files are being written or are scratch files, and the limit "
                                   "of open files (ulimit -n) allows no more");
    }
  }
  return Stage();
}

Result<std::shared_ptr<StagedFile>> Spool::StageFile(bool may_be_spare) {
  TakeBackUnwanted(*state_);
  UNSHARD_RETURN_IF_ERROR(state_->Charge(1, 0));
  std::unique_ptr<StagedFile::State> spare;
  if (may_be_spare) spare = state_->StageSpare();
  Result<std::unique_ptr<StagedFile::State>> staged = std::move(spare);
  if (!*staged) staged = state_->StageNew();
  if (!staged && IsGone(staged.error()) && state_->files->MakeDirectory(kStagingDirectory)) {
    staged = state_->StageNew();
  }
  if (!staged) {
    state_->Discharge(1, 0);
    return tl::unexpected<Error>(state_->AsRemoved(std::move(staged).error()));
  }
  return std::shared_ptr<StagedFile>(new StagedFile(*std::move(staged)));
}

Result<SpooledChunk> Spool::Seal(StagedFile* staged, const std::string& dataset,
                                 const std::string& chunk, const SealTerms& terms) {
  UNSHARD_RETURN_IF_ERROR(CheckSealNames(dataset, chunk));
  // A removal is an empty file of its own.
  std::shared_ptr<StagedFile> removal;
  if (staged == nullptr) {
    // Nothing is written to it, and a spare file has the time at which it was emptied.
    UNSHARD_ASSIGN_OR_RETURN(removal, StageFile(false));
  }
  UNSHARD_ASSIGN_OR_RETURN(SpoolDirectory* const directory, state_->DirectoryOf(dataset));
  StagedFile::State& from = staged == nullptr ? *removal->state_ : *staged->state_;
  const std::lock_guard staged_lock(from.mutex);
  SpooledChunk sealed;
  sealed.dataset = dataset;
  sealed.chunk = chunk;
  sealed.removed = staged == nullptr;
  sealed.terms = terms;
  {
    const std::lock_guard lock(state_->mutex);
    sealed.sequence = state_->next_sequence++;
  }
  UNSHARD_RETURN_IF_ERROR(state_->SealAs(*directory, from, sealed));
  return sealed;
}

Result<std::vector<SpooledChunk>> Spool::SealTogether(const std::string& dataset,
                                                      const std::vector<Part>& parts) {
  std::vector<SpooledChunk> chunks;
  std::vector<std::shared_ptr<StagedFile>> removals;
  std::vector<StagedFile::State*> files;
  for (const auto& [staged, chunk, terms] : parts) {
    UNSHARD_RETURN_IF_ERROR(CheckSealNames(dataset, chunk));
    if (staged == nullptr) {
      UNSHARD_ASSIGN_OR_RETURN(removals.emplace_back(), StageFile(false));
    }
    files.push_back((staged == nullptr ? *removals.back() : *staged).state_.get());
    SpooledChunk& sealed = chunks.emplace_back();
    sealed.dataset = dataset;
    sealed.chunk = chunk;
    sealed.removed = staged == nullptr;
    sealed.terms = terms;
  }
  UNSHARD_ASSIGN_OR_RETURN(SpoolDirectory* const directory, state_->DirectoryOf(dataset));
  {
    const std::lock_guard lock(state_->mutex);
    for (SpooledChunk& chunk : chunks) chunk.sequence = state_->next_sequence++;
  }
  UNSHARD_RETURN_IF_ERROR(unshard::SealTogether(*state_, *directory, files, chunks));
  return chunks;
}

Result<SpooledChunk> Spool::Reseal(const SpooledChunk& chunk, const SealTerms& terms) {
  SpooledChunk sealed = chunk;
  sealed.terms = terms;
  UNSHARD_RETURN_IF_ERROR(state_->files->Rename(SealedPath(kChunksDirectory, chunk),
                                                SealedPath(kChunksDirectory, sealed)));
  return sealed;
}

Result<Spool::SealedMove> Spool::SealMove(StagedFile& staged, const std::string& dataset,
                                          const MoveEnd& to, const MoveEnd& from) {
  UNSHARD_RETURN_IF_ERROR(CheckSealNames(dataset, to.chunk));
  UNSHARD_RETURN_IF_ERROR(CheckSealNames(dataset, from.chunk));
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<StagedFile> empty, StageFile(false));
  UNSHARD_ASSIGN_OR_RETURN(SpoolDirectory* const directory, state_->DirectoryOf(dataset));
  SealedMove move;
  move.copy.dataset = move.removal.dataset = dataset;
  move.copy.chunk = to.chunk;
  move.copy.terms = to.terms;
  move.removal.chunk = from.chunk;
  move.removal.terms = from.terms;
  move.removal.removed = true;
  {
    const std::lock_guard lock(state_->mutex);
    move.removal.sequence = state_->next_sequence++;
    move.copy.sequence = move.removal.only_with = state_->next_sequence++;
  }
  UNSHARD_RETURN_IF_ERROR(
      unshard::SealMove(*state_, *directory, *staged.state_, *empty->state_, move));
  return move;
}

Status Spool::Sync(const std::vector<SpooledChunk>& chunks) { return SyncChunks(*state_, chunks); }

Status Spool::PrepareToPublish(const std::vector<SpooledChunk>& chunks) {
  return SyncRewritten(*state_, chunks);
}

Status Spool::Discard(const SpooledChunk& chunk) { return DiscardChunk(*state_, chunk); }

Result<std::uint64_t> Spool::RecordAttempt(const SpoolAttempt& attempt) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state_->mutex);
    number = state_->next_attempt++;
  }
  UNSHARD_RETURN_IF_ERROR(WriteAttempt(*state_->files, number, attempt));
  return number;
}

Status Spool::ForgetAttempt(std::uint64_t number) {
  const auto removed = state_->files->Remove(AttemptPath(number));
  if (!removed) return tl::unexpected<Error>(removed.error());
  return {};
}

std::map<std::uint64_t, SpoolAttempt> Spool::TakeAttempts() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->attempts, {});
}

Status Spool::Quarantine(const SpooledChunk& chunk) { return QuarantineChunk(*state_, chunk); }

Result<std::shared_ptr<File>> Spool::Open(const SpooledChunk& chunk) {
  const auto gone = [&] { return Fail(ErrorCode::kNotFound, Describe(chunk), ": is gone"); };
  std::shared_ptr<const char> reader;
  {
    const std::lock_guard lock(state_->mutex);
    const SpoolVersion* const version = state_->FindVersion(chunk);
    if (version == nullptr || version->superseded) return gone();
    reader = version->readers;
  }
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file,
                           state_->files->Open(SealedPath(kChunksDirectory, chunk), {}));
  if (!file) {
    const std::lock_guard lock(state_->mutex);
    const SpoolVersion* const version = state_->FindVersion(chunk);
    // Discarded between the two: as if it had been before.
    if (version == nullptr || version->superseded) return gone();
    return Fail(
        ErrorCode::kDataLoss, Describe(chunk),
        ": was removed from the spool by another process; what was written to this chunk is lost");
  }
  // Its bytes stay what they are as long as this file is open.
  File* const opened = file.get();
  return std::shared_ptr<File>(opened, [file, reader](const File*) {});
}

void Spool::AskBeyondCap(std::function<Status()> may_exceed) {
  const std::lock_guard lock(state_->mutex);
  state_->may_exceed = std::move(may_exceed);
}

unsigned Spool::TimesOverCap() const { return state_->times_over; }

void Spool::LookAtDisk() { state_->LookAtDisk(); }

std::uint64_t Spool::max_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->cap;
}

SpoolUsage Spool::usage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->usage;
}

std::vector<SpooledChunk> Spool::Conflicts() {
  return state_->Kept(kConflictsDirectory, state_->conflicts);
}

std::vector<SpooledChunk> Spool::Damaged() {
  return state_->Kept(kDamagedDirectory, state_->damaged);
}

Result<bool> Spool::RemoveIfEmpty() {
  FileSystem& files = *state_->files;
  TakeBackUnwanted(*state_);
  Conflicts();
  Damaged();
  {
    const std::lock_guard lock(state_->mutex);
    const bool no_chunks =
        std::all_of(state_->directories.begin(), state_->directories.end(),
                    [](const auto& directory) { return directory.second.chunks.empty(); });
    if (!no_chunks || !state_->conflicts.empty() || !state_->damaged.empty()) return false;
    state_->spare_files.clear();
  }
  UNSHARD_RETURN_IF_ERROR(RemoveStaged(files));
  UNSHARD_RETURN_IF_ERROR(RemoveAttempts(files));
  // The owner file goes last: whatever remains before that is still a spool.
  const auto remove = [&](const std::string& directory) -> Result<bool> {
    const auto removed = files.Remove(directory);
    if (removed) return true;
    const bool holds_others =
        removed.error().system_errno == ENOTEMPTY || removed.error().system_errno == EEXIST;
    if (holds_others) return false;
    return tl::unexpected<Error>(removed.error());
  };
  for (const char* top : kTops) {
    UNSHARD_ASSIGN_OR_RETURN(const auto datasets, SortedNames(files, top));
    for (const std::string& dataset : datasets) {
      const std::string directory = std::string(top) + '/' + dataset;
      UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, directory));
      const bool all_ours = std::all_of(names.begin(), names.end(), [](const std::string& name) {
        return name == kDatasetPathFile || name == kNewDatasetPathFile;
      });
      if (!all_ours) return false;
      for (const std::string& name : names) {
        UNSHARD_RETURN_IF_ERROR(files.Remove(directory + '/' + name));
      }
      UNSHARD_ASSIGN_OR_RETURN(const bool removed, remove(directory));
      if (!removed) return false;
    }
    UNSHARD_ASSIGN_OR_RETURN(const bool removed, remove(top));
    if (!removed) return false;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto left, SortedNames(files, ""));
  const auto is_owner = [](const std::string& name) {
    return name == kOwnerFile || name == kNewOwnerFile;
  };
  if (!std::all_of(left.begin(), left.end(), is_owner)) return false;
  for (const std::string& name : left) UNSHARD_RETURN_IF_ERROR(files.Remove(name));
  UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(""));
  return true;
}

const SpoolOptions& Spool::options() const { return state_->options; }

std::string Spool::Describe(const SpooledChunk& chunk) const {
  return state_->files->Describe(SealedPath(kChunksDirectory, chunk));
}

std::string Spool::DescribeDamaged(const SpooledChunk& chunk) const {
  return state_->files->Describe(SealedPath(kDamagedDirectory, chunk));
}

std::string Spool::DescribeConflict(const SpooledChunk& chunk) const {
  return state_->files->Describe(SealedPath(kConflictsDirectory, chunk));
}

}  // namespace unshard
