// How chunks of the spool come to last, and how they go.
//
// Syncing:
//   1. The file of each version is synced, by one thread; others that want the same version wait.
//      A file that cannot be synced is written once more, to a new file that takes its name.
//   2. A round of syncing its directory makes the names last. Whoever comes while a round runs
//      waits for the next, which serves all that wait.
//   3. The version is durable: earlier ones that were kept in case that it is lost are removed.
//
// Discarding:
//   4. This version is superseded: it can no longer be opened. Where a later one is there that is
//      not, and somebody may rely on this one after a power loss, it stays until the later one is
//      durable. Where none is, all versions go, the earliest first; if an earlier one has not been
//      discarded yet (its discarding and the publishing of this one have met), they stay until it
//      is: alone it would be published over what the store has by now.
//   5. A power loss may bring a removed file back. An earlier version must not come back alone: it
//      would be published over the later one. So the latest one of a chunk is removed after a round
//      that began after the removal of all earlier ones, and it is synced before it is published
//      where there were earlier ones: once the store has it, losing it alone would let them back
//      in.
#include <algorithm>
#include <cerrno>

#include "store/object/key.h"
#include "store/object/log.h"
#include "store/spool/state.h"

namespace unshard {
namespace {

// A chunk that is overwritten again and again costs one round for so many versions.
constexpr std::size_t kMaxSuperseded = 16;
constexpr std::size_t kMaxRemoved = 4096;

// Puts the bytes of a sealed chunk into `to`, which lasts on return.
Status CopyChecked(File& from, File& to, const SpooledChunk& chunk) {
  auto crc = ReadWithCrc32c(from, {0, chunk.size}, 0,
                            [&](std::uint64_t at, ByteSpan piece) { return to.Write(at, piece); });
  if (!crc) return Forward(std::move(crc).error(), chunk.chunk);
  if (*crc == chunk.crc32c) return to.Sync();
  return Fail(ErrorCode::kDataLoss, "the bytes of " + chunk.chunk + " are damaged");
}

// After a failed sync the kernel takes bytes for written that are not; only another file can save
// them.
Status RewriteFile(Spool::State& state, File& from, const SpooledChunk& chunk) {
  const std::string path = state.NextStagedPath();
  UNSHARD_ASSIGN_OR_RETURN(
      const std::shared_ptr<File> to,
      state.files->Open(path, {.write = true, .create = true, .exclusive = true}));
  auto done = CopyChecked(from, *to, chunk);
  if (done) done = state.files->Rename(path, SealedPath(kChunksDirectory, chunk));
  if (!done) (void)state.files->Remove(path);
  return done;
}

// Step 1, without its bookkeeping.
Status SyncBytes(Spool::State& state, std::shared_ptr<File> file, const SpooledChunk& chunk) {
  const std::string path = SealedPath(kChunksDirectory, chunk);
  if (!file) {
    UNSHARD_ASSIGN_OR_RETURN(file, state.files->Open(path, {.write = true}));
  }
  if (!file) return Fail(ErrorCode::kDataLoss, state.files->Describe(path) + ": is gone");
  auto synced = file->Sync();
  if (synced) return {};
  LogWarning(synced.error().message + "; writing it once more");
  const auto rewritten = RewriteFile(state, *file, chunk);
  if (rewritten) return {};
  return Forward(std::move(synced).error(), state.files->Describe(path) +
                                                ": may not survive a power loss (written anew: " +
                                                rewritten.error().message + ")");
}

tl::unexpected<Error> WillNotLast(Spool::State& state, const SpooledChunk& chunk) {
  return FailErrno(EIO, state.files->Describe(SealedPath(kChunksDirectory, chunk)) +
                            ": an earlier attempt to sync it has failed");
}

// Step 1. True where the name remains to be synced.
Result<bool> SyncFile(Spool::State& state, const SpooledChunk& chunk) {
  std::unique_lock lock(state.mutex);
  SpoolVersion* version = nullptr;
  state.changed.wait(lock, [&] {
    version = state.FindVersion(chunk);
    return version == nullptr || version->durability != Durability::kSyncing;
  });
  if (version == nullptr || version->superseded) return false;
  if (version->durability == Durability::kDurable) return false;
  const bool doubtful = chunk.sequence < state.FindDirectory(chunk.dataset)->doubtful_below;
  if (version->durability == Durability::kLost || doubtful) return WillNotLast(state, chunk);
  if (version->durability == Durability::kFileSynced) return true;
  version->durability = Durability::kSyncing;
  const auto held = state.held.find(chunk.sequence);
  std::shared_ptr<File> file = held == state.held.end() ? nullptr : held->second;
  lock.unlock();
  auto synced = SyncBytes(state, std::move(file), chunk);
  lock.lock();
  // It is still known: who discards it waits for us.
  state.FindVersion(chunk)->durability = synced ? Durability::kFileSynced : Durability::kLost;
  state.held.erase(chunk.sequence);
  state.changed.notify_all();
  if (!synced) return tl::unexpected<Error>(std::move(synced).error());
  return true;
}

bool IsSuperseded(const SpoolVersion& version) { return version.superseded; }

// The superseded versions of a chunk before one that is not, as far as nobody relies on them, in
// order. Requires the mutex.
std::vector<SpooledChunk> Removable(const Spool::State& state, const SpoolDirectory& directory,
                                    const std::string& chunk) {
  std::vector<SpooledChunk> removable;
  const auto versions = directory.chunks.find(chunk);
  if (versions == directory.chunks.end()) return removable;
  const auto end =
      std::find_if_not(versions->second.rbegin(), versions->second.rend(), IsSuperseded).base();
  for (auto version = versions->second.begin(); version != end; ++version) {
    const bool later_lasts = std::any_of(version + 1, end, [](const SpoolVersion& later) {
      return later.durability == Durability::kDurable;
    });
    const bool kept = version->promised && !later_lasts;
    // What is not discarded yet goes before all later ones.
    if (!version->superseded) break;
    if (!kept) removable.push_back(state.superseded.at(version->sequence));
  }
  return removable;
}

// All versions of a chunk where each is superseded, in order. Requires the mutex.
std::vector<SpooledChunk> AllSuperseded(const Spool::State& state, const SpoolDirectory& directory,
                                        const std::string& chunk) {
  std::vector<SpooledChunk> all;
  const auto versions = directory.chunks.find(chunk);
  if (versions == directory.chunks.end()) return all;
  if (!std::all_of(versions->second.begin(), versions->second.end(), IsSuperseded)) return all;
  for (const SpoolVersion& each : versions->second) {
    all.push_back(state.superseded.at(each.sequence));
  }
  return all;
}

// Steps 2 and 3 for chunks of one dataset.
Status SyncNames(Spool::State& state, SpoolDirectory& directory,
                 const std::vector<const SpooledChunk*>& chunks) {
  auto synced = state.SyncRound(directory);
  std::vector<std::vector<SpooledChunk>> removable;
  {
    const std::lock_guard lock(state.mutex);
    for (const SpooledChunk* chunk : chunks) {
      SpoolVersion* const version = state.FindVersion(*chunk);
      if (version == nullptr || version->durability == Durability::kDurable) continue;
      if (!synced || chunk->sequence < directory.doubtful_below) {
        version->durability = Durability::kLost;
        if (synced) synced = WillNotLast(state, *chunk);
        continue;
      }
      version->durability = Durability::kDurable;
      version->promised = true;
      auto earlier = Removable(state, directory, chunk->chunk);
      if (!earlier.empty()) removable.push_back(std::move(earlier));
    }
  }
  for (const auto& versions : removable) {
    const auto removed = state.RemoveVersions(directory, versions);
    if (!removed)
      LogWarning(removed.error().message + "; the file is kept until the spool is opened next");
  }
  return synced;
}

}  // namespace

Status Spool::Sync(const std::vector<SpooledChunk>& chunks) {
  Status result;
  std::map<std::string, std::vector<const SpooledChunk*>> by_dataset;
  for (const SpooledChunk& chunk : chunks) {
    auto synced = SyncFile(*state_, chunk);
    if (!synced) {
      if (result) result = tl::unexpected<Error>(std::move(synced).error());
    } else if (*synced) {
      by_dataset[chunk.dataset].push_back(&chunk);
    }
  }
  for (const auto& [dataset, theirs] : by_dataset) {
    SpoolDirectory* directory = nullptr;
    {
      const std::lock_guard lock(state_->mutex);
      directory = state_->FindDirectory(dataset);
    }
    auto synced = SyncNames(*state_, *directory, theirs);
    if (!synced && result) result = std::move(synced);
  }
  return result;
}

Status Spool::PrepareToPublish(const std::vector<SpooledChunk>& chunks) {
  std::vector<SpooledChunk> rewritten;
  {
    const std::lock_guard lock(state_->mutex);
    for (const SpooledChunk& chunk : chunks) {
      if (state_->FindVersion(chunk) == nullptr) continue;
      const SpoolDirectory& directory = *state_->FindDirectory(chunk.dataset);
      const bool is_first = directory.chunks.at(chunk.chunk).front().sequence == chunk.sequence;
      const auto removed = directory.removed.find(chunk.chunk);
      const bool may_return =
          removed != directory.removed.end() && removed->second > directory.round_done;
      if (!is_first || may_return) rewritten.push_back(chunk);
    }
  }
  // Where this version lasts it wins over all that may come back.
  return Sync(rewritten);
}

Status Spool::Discard(const SpooledChunk& chunk) {
  std::unique_lock lock(state_->mutex);
  SpoolVersion* version = nullptr;
  state_->changed.wait(lock, [&] {
    version = state_->FindVersion(chunk);
    return version == nullptr || version->durability != Durability::kSyncing;
  });
  if (version == nullptr || version->superseded) return {};
  SpoolDirectory& directory = *state_->FindDirectory(chunk.dataset);
  version->superseded = true;
  state_->superseded.emplace(chunk.sequence, chunk);
  // Whatever was kept in case that the last one is lost has served its purpose.
  std::vector<SpooledChunk> removable = AllSuperseded(*state_, directory, chunk.chunk);
  if (removable.empty()) {
    if (directory.chunks.at(chunk.chunk).back().superseded) return {};
    removable = Removable(*state_, directory, chunk.chunk);
    const auto removed = directory.removed.find(chunk.chunk);
    const bool is_cheap =
        removed == directory.removed.end() || removed->second <= directory.round_done;
    if (removable.empty()) return {};
    if (!(is_cheap && removable.size() == 1) && removable.size() < kMaxSuperseded) return {};
  }
  lock.unlock();
  return state_->RemoveVersions(directory, removable);
}

Status Spool::State::RemoveVersions(SpoolDirectory& directory,
                                    const std::vector<SpooledChunk>& chunks) {
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i) {
    UNSHARD_RETURN_IF_ERROR(RemoveVersion(directory, chunks[i]));
  }
  bool waits = false;
  {
    const std::lock_guard lock(mutex);
    const auto before = directory.removed.find(chunks.back().chunk);
    waits = before != directory.removed.end() && before->second > directory.round_done;
    waits |= directory.removed.size() >= kMaxRemoved;
  }
  // Step 5.
  if (waits) UNSHARD_RETURN_IF_ERROR(SyncRound(directory));
  return RemoveVersion(directory, chunks.back());
}

Status Spool::State::RemoveVersion(SpoolDirectory& directory, const SpooledChunk& chunk) {
  if (!Recycle(chunk)) {
    UNSHARD_RETURN_IF_ERROR(files->Remove(SealedPath(kChunksDirectory, chunk)));
  }
  const std::lock_guard lock(mutex);
  ForgetVersion(directory, chunk);
  if (directory.removed.size() >= kMaxRemoved) {
    std::erase_if(directory.removed,
                  [&](const auto& entry) { return entry.second <= directory.round_done; });
  }
  directory.removed[chunk.chunk] = directory.round_begun + 1;
  return {};
}

Status Spool::SetAside(const SpooledChunk& chunk) {
  // It lasts before it moves, so that the move cannot tear it; earlier versions go.
  UNSHARD_RETURN_IF_ERROR(Sync({chunk}));
  {
    const std::lock_guard lock(state_->making_conflicts);
    UNSHARD_RETURN_IF_ERROR(
        MakeDatasetDirectory(*state_->files, kConflictsDirectory, chunk.dataset));
  }
  SpoolDirectory* directory = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    const SpoolVersion* const version = state_->FindVersion(chunk);
    if (version == nullptr || version->superseded) {
      return Fail(ErrorCode::kNotFound, Describe(chunk) + ": is gone");
    }
    directory = state_->FindDirectory(chunk.dataset);
  }
  const std::string to = SealedPath(kConflictsDirectory, chunk);
  UNSHARD_RETURN_IF_ERROR(state_->files->Rename(SealedPath(kChunksDirectory, chunk), to));
  std::vector<SpooledChunk> waiting;  // later ones, for this one to go
  {
    const std::lock_guard lock(state_->mutex);
    state_->ForgetVersion(*directory, chunk);
    state_->conflicts.push_back(chunk);
    waiting = AllSuperseded(*state_, *directory, chunk.chunk);
  }
  UNSHARD_RETURN_IF_ERROR(state_->files->SyncDirectory(ParentPath(to)));
  UNSHARD_RETURN_IF_ERROR(state_->SyncRound(*directory));
  if (waiting.empty()) return {};
  return state_->RemoveVersions(*directory, waiting);
}

}  // namespace unshard
