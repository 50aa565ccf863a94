// A spool, and in it the move of a chunk that takes another one's place and leaves its own: two
// files, of which the next process has to find both or neither.
//
//   1. The removal is sealed with the number of the copy: without the copy it does not count. It
//      is durable before the copy is sealed.
//   2. The copy is sealed: from here on the move is done, whatever happens.
//   3. The copy is made durable, and the removal gets the name of any other removal.
//   4. The copy is removed, some time, after a round of syncing their directory that began after
//      step 3: without the copy a removal of step 1 would be taken back.
//
// What was cut off between 1 and 3 is ended when the spool is opened next.
#include "store/spool/spool.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <unordered_map>

#include "store/object/log.h"
#include "store/object/object_store.h"
#include "store/spool/owner.h"
#include "store/spool/sealed_name.h"
#include "store/spool/state.h"

namespace unshard {
namespace {

// Longer than any seal: four sequences or lengths, four more numbers of eight digits.
constexpr std::size_t kMaxSeal = 128;
constexpr std::array<const char*, 4> kTops = {kStagingDirectory, kChunksDirectory,
                                              kConflictsDirectory, kDamagedDirectory};

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
      return FailErrno(EMFILE,
                       std::to_string(state_->staged_files) +
                           " files are open for writing, as many as the limit of open files "
                           "allows the mount (ulimit -n)");
    }
  }
  return Stage();
}

Result<std::shared_ptr<StagedFile>> Spool::StageFile(bool may_be_spare) {
  UNSHARD_RETURN_IF_ERROR(state_->Charge(1, 0));
  std::unique_ptr<StagedFile::State> spare;
  if (may_be_spare) spare = state_->StageSpare();
  Result<std::unique_ptr<StagedFile::State>> staged = std::move(spare);
  if (!*staged) staged = state_->StageNew();
  if (!staged) {
    state_->Discharge(1, 0);
    return tl::unexpected<Error>(std::move(staged).error());
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

Status Spool::State::SealAs(SpoolDirectory& directory, StagedFile::State& from,
                            SpooledChunk& sealed) {
  UNSHARD_RETURN_IF_ERROR(from.CheckUnsealed());
  sealed.size = from.size;
  UNSHARD_ASSIGN_OR_RETURN(sealed.crc32c, from.Checksum());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, from.file->Stat());
  sealed.committed = status.modified;
  UNSHARD_RETURN_IF_ERROR(files->Rename(from.path, SealedPath(kChunksDirectory, sealed)));
  from.sealed = true;
  const std::lock_guard lock(mutex);
  auto& versions = directory.chunks[sealed.chunk];
  const auto later =
      std::find_if(versions.begin(), versions.end(),
                   [&](const SpoolVersion& version) { return version.sequence > sealed.sequence; });
  from.reader = versions.insert(later, SpoolVersion{sealed.sequence})->readers;
  Hold(sealed.sequence, from.file);
  return {};
}

Result<std::shared_ptr<File>> Spool::Open(const SpooledChunk& chunk) {
  const auto gone = [&] { return Fail(ErrorCode::kNotFound, Describe(chunk) + ": is gone"); };
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
    return Fail(ErrorCode::kDataLoss,
                Describe(chunk) +
                    ": was removed from the spool by another process; what was "
                    "written to this chunk is lost");
  }
  // Its bytes stay what they are as long as somebody can read them here.
  File* const opened = file.get();
  return std::shared_ptr<File>(opened, [file, reader](const File*) {});
}

SpoolUsage Spool::usage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->usage;
}

std::vector<SpooledChunk> Spool::Conflicts() {
  const std::lock_guard lock(state_->mutex);
  return state_->conflicts;
}

std::vector<SpooledChunk> Spool::Damaged() {
  const std::lock_guard lock(state_->mutex);
  return state_->damaged;
}

Result<bool> Spool::RemoveIfEmpty() {
  FileSystem& files = *state_->files;
  {
    const std::lock_guard lock(state_->mutex);
    const bool no_chunks =
        std::all_of(state_->directories.begin(), state_->directories.end(),
                    [](const auto& directory) { return directory.second.chunks.empty(); });
    if (!no_chunks || !state_->conflicts.empty() || !state_->damaged.empty()) return false;
    state_->spare_files.clear();
  }
  UNSHARD_RETURN_IF_ERROR(RemoveStaged(files));
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
namespace {

Status CountAlone(FileSystem& files, SpooledChunk& removal) {
  SpooledChunk alone = removal;
  alone.only_with = 0;
  UNSHARD_RETURN_IF_ERROR(
      files.Rename(SealedPath(kChunksDirectory, removal), SealedPath(kChunksDirectory, alone)));
  removal = std::move(alone);
  return {};
}

}  // namespace

Status EndMoves(FileSystem& files, const std::string& path, std::vector<SpooledChunk>& chunks) {
  std::unordered_map<std::uint64_t, const SpooledChunk*> there;
  for (const SpooledChunk& chunk : chunks) there.emplace(chunk.sequence, &chunk);
  const auto copy_of = [&](const SpooledChunk& removal) {
    const auto found = there.find(removal.only_with);
    return found == there.end() ? nullptr : found->second;
  };
  bool any = false;
  for (const SpooledChunk& chunk : chunks) {
    const SpooledChunk* const copy = chunk.only_with == 0 ? nullptr : copy_of(chunk);
    if (copy == nullptr) continue;
    UNSHARD_RETURN_IF_ERROR(SyncSealed(files, *copy));
    any = true;
  }
  if (any) UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(path));
  for (SpooledChunk& chunk : chunks) {
    if (chunk.only_with == 0) continue;
    if (copy_of(chunk) != nullptr) {
      UNSHARD_RETURN_IF_ERROR(CountAlone(files, chunk));
    } else {
      UNSHARD_RETURN_IF_ERROR(files.Remove(SealedPath(kChunksDirectory, chunk)));
    }
  }
  std::erase_if(chunks, [](const SpooledChunk& chunk) { return chunk.only_with != 0; });
  return {};
}

Status Spool::State::TakeBack(SpoolDirectory& directory, const SpooledChunk& chunk) {
  UNSHARD_RETURN_IF_ERROR(files->Remove(SealedPath(kChunksDirectory, chunk)));
  const std::lock_guard lock(mutex);
  ForgetVersion(directory, chunk);
  return {};
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
  const auto seal = [&](StagedFile& file, SpooledChunk& as) {
    const std::lock_guard lock(file.state_->mutex);
    return state_->SealAs(*directory, *file.state_, as);
  };
  UNSHARD_RETURN_IF_ERROR(seal(*empty, move.removal));  // 1
  auto done = state_->SyncRound(*directory);
  if (done) done = seal(staged, move.copy);  // 2
  const bool copied = done.has_value();
  if (done) done = Sync({move.copy});  // 3
  if (done) done = CountAlone(*state_->files, move.removal);
  if (!done) {
    // Where the copy may come back, the removal that needs it has to stay.
    Status back;
    if (copied) back = state_->TakeBack(*directory, move.copy);
    if (copied && back) back = state_->SyncRound(*directory);
    if (back) back = state_->TakeBack(*directory, move.removal);
    if (!back) LogWarning(back.error().message);
    return tl::unexpected<Error>(std::move(done).error());
  }
  const std::lock_guard lock(state_->mutex);
  directory->removed[move.copy.chunk] = directory->round_begun + 1;  // 4
  return move;
}

}  // namespace unshard
