#include "store/spool/sync.h"

#include <algorithm>
#include <cerrno>

#include "store/object/catch_exceptions.h"
#include "store/object/error_number.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/spool/state.h"

namespace unshard {
namespace {

// A chunk that is overwritten again and again costs one round for so many versions.
constexpr std::size_t kMaxSuperseded = 16;
constexpr std::size_t kMaxRemoved = 4096;

// Puts the bytes of a sealed chunk into `to`, which is durable on return.
Status CopyChecked(File& from, File& to, const SpooledChunk& chunk) {
  auto sum = ReadWithChecksum(from, {0, chunk.size}, 0, [&](std::uint64_t at, ByteSpan piece) {
    return to.Write(at, piece);
  });
  if (!sum) return Forward(std::move(sum).error(), chunk.chunk);
  if (*sum == chunk.checksum) return to.Sync();
  return Fail(ErrorCode::kDataLoss, "the bytes of ", chunk.chunk, " are damaged");
}

// After a failed fsync the page cache marks pages as clean that the disk does not have: only a new
// file can still make the bytes durable.
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
  if (!file) return Fail(ErrorCode::kDataLoss, state.files->Describe(path), ": is gone");
  auto synced = file->Sync();
  if (synced) return {};
  LogWarning(synced.error().message + "; writing it once more");
  const auto rewritten = RewriteFile(state, *file, chunk);
  if (rewritten) return {};
  return Forward(std::move(synced).error(),
                 state.files->Describe(path) +
                     ": may not survive a power loss (writing it again failed: " +
                     rewritten.error().message + ")");
}

tl::unexpected<Error> NotDurable(Spool::State& state, const SpooledChunk& chunk) {
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
  if (version->durability == Durability::kLost || doubtful) return NotDurable(state, chunk);
  if (version->durability == Durability::kFileSynced) return true;
  version->durability = Durability::kSyncing;
  const auto held = state.held.find(chunk.sequence);
  std::shared_ptr<File> file = held == state.held.end() ? nullptr : held->second;
  lock.unlock();
  // An exception counts as a failed fsync, which it may have followed.
  auto synced = CatchExceptions([&] { return SyncBytes(state, std::move(file), chunk); });
  lock.lock();
  Durability reached = Durability::kFileSynced;
  // Without a descriptor there was no fsync(2): nothing is lost, and the next may succeed.
  if (!synced) {
    reached = FoundNoDescriptor(synced.error()) ? Durability::kUnsynced : Durability::kLost;
  }
  // It is still known: discarding it waits for this fsync.
  state.FindVersion(chunk)->durability = reached;
  state.held.erase(chunk.sequence);
  state.changed.notify_all();
  if (!synced) return tl::unexpected<Error>(std::move(synced).error());
  return true;
}

bool IsSuperseded(const SpoolVersion& version) { return version.superseded; }

// The superseded versions of a chunk before a version that is not superseded, as far as no program
// relies on them, in order. Requires the mutex.
std::vector<SpooledChunk> Removable(const Spool::State& state, const SpoolDirectory& directory,
                                    const std::string& chunk) {
  std::vector<SpooledChunk> removable;
  const auto versions = directory.chunks.find(chunk);
  if (versions == directory.chunks.end()) return removable;
  const auto end =
      std::find_if_not(versions->second.rbegin(), versions->second.rend(), IsSuperseded).base();
  for (auto version = versions->second.begin(); version != end; ++version) {
    const bool later_is_durable = std::any_of(version + 1, end, [](const SpoolVersion& later) {
      return later.durability == Durability::kDurable;
    });
    const bool kept = version->acknowledged && !later_is_durable;
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

Status RemoveVersion(Spool::State& state, SpoolDirectory& directory, const SpooledChunk& chunk) {
  if (!state.Recycle(chunk)) {
    UNSHARD_RETURN_IF_ERROR(state.files->Remove(SealedPath(kChunksDirectory, chunk)));
  }
  const std::lock_guard lock(state.mutex);
  state.ForgetVersion(directory, chunk);
  if (directory.removed.size() >= kMaxRemoved) {
    std::erase_if(directory.removed,
                  [&](const auto& entry) { return entry.second <= directory.round_done; });
  }
  directory.removed[chunk.chunk] = directory.round_begun + 1;
  return {};
}

// Removes and forgets superseded versions of one chunk, in order of sequence.
Status RemoveVersions(Spool::State& state, SpoolDirectory& directory,
                      const std::vector<SpooledChunk>& chunks) {
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i) {
    UNSHARD_RETURN_IF_ERROR(RemoveVersion(state, directory, chunks[i]));
  }
  bool waits = false;
  {
    const std::lock_guard lock(state.mutex);
    const auto before = directory.removed.find(chunks.back().chunk);
    waits = before != directory.removed.end() && before->second > directory.round_done;
    waits |= directory.removed.size() >= kMaxRemoved;
  }
  // Step 5.
  if (waits) UNSHARD_RETURN_IF_ERROR(state.SyncRound(directory));
  return RemoveVersion(state, directory, chunks.back());
}

// Steps 2 and 3 for chunks of one dataset.
Status SyncNames(Spool::State& state, SpoolDirectory& directory,
                 const std::vector<const SpooledChunk*>& chunks) {
  auto synced = state.SyncRound(directory);
  if (!synced && FoundNoDescriptor(synced.error())) return synced;
  std::vector<std::vector<SpooledChunk>> removable;
  {
    const std::lock_guard lock(state.mutex);
    for (const SpooledChunk* chunk : chunks) {
      SpoolVersion* const version = state.FindVersion(*chunk);
      if (version == nullptr || version->durability == Durability::kDurable) continue;
      if (!synced || chunk->sequence < directory.doubtful_below) {
        version->durability = Durability::kLost;
        if (synced) synced = NotDurable(state, *chunk);
        continue;
      }
      version->durability = Durability::kDurable;
      version->acknowledged = true;
      auto earlier = Removable(state, directory, chunk->chunk);
      if (!earlier.empty()) removable.push_back(std::move(earlier));
    }
  }
  for (const auto& versions : removable) {
    const auto removed = RemoveVersions(state, directory, versions);
    if (!removed)
      LogWarning(removed.error().message + "; the file is kept until the spool is opened next");
  }
  return synced;
}

}  // namespace

Status SyncChunks(Spool::State& state, const std::vector<SpooledChunk>& chunks) {
  Status result;
  std::map<std::string, std::vector<const SpooledChunk*>> by_dataset;
  for (const SpooledChunk& chunk : chunks) {
    auto synced = SyncFile(state, chunk);
    if (!synced) {
      if (result) result = tl::unexpected<Error>(std::move(synced).error());
    } else if (*synced) {
      by_dataset[chunk.dataset].push_back(&chunk);
    }
  }
  for (const auto& [dataset, theirs] : by_dataset) {
    SpoolDirectory* directory = nullptr;
    {
      const std::lock_guard lock(state.mutex);
      directory = state.FindDirectory(dataset);
    }
    auto synced = SyncNames(state, *directory, theirs);
    if (!synced && result) result = std::move(synced);
  }
  return result;
}

Status SyncRewritten(Spool::State& state, const std::vector<SpooledChunk>& chunks) {
  std::vector<SpooledChunk> rewritten;
  {
    const std::lock_guard lock(state.mutex);
    for (const SpooledChunk& chunk : chunks) {
      if (state.FindVersion(chunk) == nullptr) continue;
      const SpoolDirectory& directory = *state.FindDirectory(chunk.dataset);
      const bool is_first = directory.chunks.at(chunk.chunk).front().sequence == chunk.sequence;
      const auto removed = directory.removed.find(chunk.chunk);
      const bool may_return =
          removed != directory.removed.end() && removed->second > directory.round_done;
      if (!is_first || may_return) rewritten.push_back(chunk);
    }
  }
  // Once this version is durable it wins over all that may come back.
  return SyncChunks(state, rewritten);
}

Status DiscardChunk(Spool::State& state, const SpooledChunk& chunk) {
  std::unique_lock lock(state.mutex);
  SpoolVersion* version = nullptr;
  state.changed.wait(lock, [&] {
    version = state.FindVersion(chunk);
    return version == nullptr || version->durability != Durability::kSyncing;
  });
  if (version == nullptr || version->superseded) return {};
  SpoolDirectory& directory = *state.FindDirectory(chunk.dataset);
  version->superseded = true;
  state.superseded.emplace(chunk.sequence, chunk);
  // What was kept in case that the last one is lost is needed no longer.
  std::vector<SpooledChunk> removable = AllSuperseded(state, directory, chunk.chunk);
  if (removable.empty()) {
    if (directory.chunks.at(chunk.chunk).back().superseded) return {};
    removable = Removable(state, directory, chunk.chunk);
    const auto removed = directory.removed.find(chunk.chunk);
    const bool is_cheap =
        removed == directory.removed.end() || removed->second <= directory.round_done;
    if (removable.empty()) return {};
    if (!(is_cheap && removable.size() == 1) && removable.size() < kMaxSuperseded) return {};
  }
  lock.unlock();
  return RemoveVersions(state, directory, removable);
}

Status QuarantineChunk(Spool::State& state, const SpooledChunk& chunk) {
  // It is durable before it moves, so that the move cannot tear it; earlier versions go.
  UNSHARD_RETURN_IF_ERROR(SyncChunks(state, {chunk}));
  {
    const std::lock_guard lock(state.making_conflicts);
    UNSHARD_RETURN_IF_ERROR(MakeDatasetDirectory(*state.files, kConflictsDirectory, chunk.dataset));
  }
  SpoolDirectory* directory = nullptr;
  {
    const std::lock_guard lock(state.mutex);
    const SpoolVersion* const version = state.FindVersion(chunk);
    if (version == nullptr || version->superseded) {
      return Fail(ErrorCode::kNotFound, state.files->Describe(SealedPath(kChunksDirectory, chunk)),
                  ": is gone");
    }
    directory = state.FindDirectory(chunk.dataset);
  }
  const std::string to = SealedPath(kConflictsDirectory, chunk);
  UNSHARD_RETURN_IF_ERROR(state.files->Rename(SealedPath(kChunksDirectory, chunk), to));
  std::vector<SpooledChunk> waiting;  // later ones, for this one to go
  {
    const std::lock_guard lock(state.mutex);
    state.ForgetVersion(*directory, chunk);
    state.conflicts.push_back(chunk);
    waiting = AllSuperseded(state, *directory, chunk.chunk);
  }
  UNSHARD_RETURN_IF_ERROR(state.files->SyncDirectory(ParentPath(to)));
  UNSHARD_RETURN_IF_ERROR(state.SyncRound(*directory));
  if (waiting.empty()) return {};
  return RemoveVersions(state, *directory, waiting);
}

}  // namespace unshard
