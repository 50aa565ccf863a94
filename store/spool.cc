#include "store/spool.h"

#include <algorithm>
#include <cerrno>

#include "store/kv_store.h"
#include "store/sealed_name.h"
#include "store/spool_owner.h"
#include "store/spool_state.h"

namespace unshard {
namespace {

// Longer than any seal: two sequences or lengths, three more numbers of eight digits.
constexpr std::size_t kMaxSeal = 128;

Status CheckNames(const std::string& dataset, const std::string& chunk) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(dataset));
  UNSHARD_RETURN_IF_ERROR(CheckKey(chunk));
  if (chunk.empty()) return Fail(ErrorCode::kInvalidArgument, "a chunk without a name");
  if (EscapeName(chunk).size() + kMaxSeal <= kMaxFileName) return {};
  return FailErrno(ENAMETOOLONG, "sealing the chunk " + chunk);
}

}  // namespace

Spool::Spool(std::unique_ptr<State> state) : state_(std::move(state)) {}
Spool::~Spool() = default;

Result<std::unique_ptr<Spool>> Spool::Open(std::shared_ptr<FileSystem> files,
                                           const SpoolOptions& options) {
  UNSHARD_RETURN_IF_ERROR(CheckSpoolRoot(*files));
  auto state = std::make_unique<State>(std::move(files), options);
  UNSHARD_ASSIGN_OR_RETURN(state->owner,
                           AcquireOwnership(*state->files, ThisProcess(options.source)));
  for (const char* top : {kStagingDirectory, kChunksDirectory, kConflictsDirectory}) {
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
                                 const std::string& chunk, const ChunkFingerprint& base,
                                 const std::optional<ChunkFingerprint>& other_base) {
  UNSHARD_RETURN_IF_ERROR(CheckNames(dataset, chunk));
  // A removal is an empty file of its own.
  std::shared_ptr<StagedFile> removal;
  if (staged == nullptr) {
    // Nothing is written to it, and a spare file has the time at which it was emptied.
    UNSHARD_ASSIGN_OR_RETURN(removal, StageFile(false));
  }
  UNSHARD_ASSIGN_OR_RETURN(SpoolDirectory* const directory, state_->DirectoryOf(dataset));
  StagedFile::State& from = staged == nullptr ? *removal->state_ : *staged->state_;
  const std::lock_guard staged_lock(from.mutex);
  UNSHARD_RETURN_IF_ERROR(from.CheckUnsealed());
  SpooledChunk sealed;
  sealed.dataset = dataset;
  sealed.chunk = chunk;
  sealed.removed = staged == nullptr;
  sealed.size = from.size;
  sealed.base = base;
  sealed.other_base = other_base;
  UNSHARD_ASSIGN_OR_RETURN(sealed.crc32c, from.Checksum());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, from.file->Stat());
  sealed.committed = status.modified;
  {
    const std::lock_guard lock(state_->mutex);
    sealed.sequence = state_->next_sequence++;
  }
  UNSHARD_RETURN_IF_ERROR(state_->files->Rename(from.path, SealedPath(kChunksDirectory, sealed)));
  from.sealed = true;
  const std::lock_guard lock(state_->mutex);
  auto& versions = directory->chunks[chunk];
  const auto later =
      std::find_if(versions.begin(), versions.end(),
                   [&](const SpoolVersion& version) { return version.sequence > sealed.sequence; });
  from.reader = versions.insert(later, SpoolVersion{sealed.sequence})->readers;
  state_->Hold(sealed.sequence, from.file);
  return sealed;
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
  // Discarded between the two: as if it had been before.
  if (!file) return gone();
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

const SpoolOptions& Spool::options() const { return state_->options; }

std::string Spool::Describe(const SpooledChunk& chunk) const {
  return state_->files->Describe(SealedPath(kChunksDirectory, chunk));
}

std::string Spool::DescribeConflict(const SpooledChunk& chunk) const {
  return state_->files->Describe(SealedPath(kConflictsDirectory, chunk));
}

}  // namespace unshard
