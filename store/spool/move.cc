#include "store/spool/move.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "store/object/log.h"
#include "store/spool/recovery.h"
#include "store/spool/staged_file.h"
#include "store/spool/state.h"
#include "store/spool/sync.h"

namespace unshard {
namespace {

// A version counts only with another one from now on; with 0: alone.
Status CountOnlyWith(FileSystem& files, SpooledChunk& chunk, std::uint64_t other) {
  SpooledChunk renamed = chunk;
  renamed.only_with = other;
  UNSHARD_RETURN_IF_ERROR(
      files.Rename(SealedPath(kChunksDirectory, chunk), SealedPath(kChunksDirectory, renamed)));
  chunk = std::move(renamed);
  return {};
}

Status CountAlone(FileSystem& files, SpooledChunk& chunk) { return CountOnlyWith(files, chunk, 0); }

Status TakeBackOne(Spool::State& state, SpoolDirectory& directory, const SpooledChunk& chunk) {
  UNSHARD_RETURN_IF_ERROR(state.files->Remove(SealedPath(kChunksDirectory, chunk)));
  const std::lock_guard lock(state.mutex);
  state.ForgetVersion(directory, chunk);
  return {};
}

// What has been removed leaves `unwanted`.
Status TryToTakeBack(Spool::State& state, SpoolDirectory& directory, UnwantedVersions& unwanted) {
  std::vector<SpooledChunk>& chunks = unwanted.chunks;
  if (chunks.front().sequence == unwanted.last) {
    for (auto chunk = chunks.begin() + 1; chunk != chunks.end(); ++chunk) {
      if (chunk->only_with != 0) continue;
      UNSHARD_RETURN_IF_ERROR(CountOnlyWith(*state.files, *chunk, unwanted.last));
    }
  }
  while (!chunks.empty()) {
    if (unwanted.in_order && chunks.front().sequence != unwanted.last) {
      UNSHARD_RETURN_IF_ERROR(state.SyncRound(directory));
      unwanted.in_order = false;
    }
    UNSHARD_RETURN_IF_ERROR(TakeBackOne(state, directory, chunks.front()));
    chunks.erase(chunks.begin());
  }
  return {};
}

// Removes the versions of a commit that failed: no caller has been given them. Where even that
// fails they are in the way of no other version, and it is tried again later.
void TakeBack(Spool::State& state, SpoolDirectory& directory, UnwantedVersions unwanted) {
  if (unwanted.chunks.empty()) return;
  const Status done = TryToTakeBack(state, directory, unwanted);
  if (done || unwanted.chunks.empty()) return;
  LogWarning(done.error().message);
  const std::lock_guard lock(state.mutex);
  for (const SpooledChunk& chunk : unwanted.chunks) {
    SpoolVersion* const version = state.FindVersion(chunk);
    if (version == nullptr) continue;
    version->superseded = true;
    state.superseded.insert_or_assign(chunk.sequence, chunk);
  }
  state.unwanted.push_back(std::move(unwanted));
}

Status Seal(Spool::State& state, SpoolDirectory& directory, StagedFile::State& file,
            SpooledChunk& as) {
  const std::lock_guard lock(file.mutex);
  return state.SealAs(directory, file, as);
}

}  // namespace

void TakeBackUnwanted(Spool::State& state) {
  std::vector<UnwantedVersions> all;
  {
    const std::lock_guard lock(state.mutex);
    all = std::exchange(state.unwanted, {});
  }
  for (UnwantedVersions& unwanted : all) {
    SpoolDirectory* directory = nullptr;
    {
      const std::lock_guard lock(state.mutex);
      directory = state.FindDirectory(unwanted.chunks.front().dataset);
    }
    TakeBack(state, *directory, std::move(unwanted));
  }
}

Status EndMoves(FileSystem& files, const std::string& path, std::vector<SpooledChunk>& chunks) {
  std::unordered_map<std::uint64_t, const SpooledChunk*> there;
  for (const SpooledChunk& chunk : chunks) there.emplace(chunk.sequence, &chunk);
  const auto last_of = [&](const SpooledChunk& chunk) {
    const auto found = there.find(chunk.only_with);
    return found == there.end() ? nullptr : found->second;
  };
  bool any = false;
  for (const SpooledChunk& chunk : chunks) {
    const SpooledChunk* const last = chunk.only_with == 0 ? nullptr : last_of(chunk);
    if (last == nullptr) continue;
    UNSHARD_RETURN_IF_ERROR(SyncSealed(files, *last));
    any = true;
  }
  if (any) UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(path));
  for (SpooledChunk& chunk : chunks) {
    if (chunk.only_with == 0) continue;
    if (last_of(chunk) != nullptr) {
      UNSHARD_RETURN_IF_ERROR(CountAlone(files, chunk));
    } else {
      UNSHARD_RETURN_IF_ERROR(files.Remove(SealedPath(kChunksDirectory, chunk)));
    }
  }
  std::erase_if(chunks, [](const SpooledChunk& chunk) { return chunk.only_with != 0; });
  return {};
}

Status SealTogether(Spool::State& state, SpoolDirectory& directory,
                    const std::vector<StagedFile::State*>& files,
                    std::vector<SpooledChunk>& chunks) {
  const std::uint64_t last = chunks.back().sequence;
  std::size_t sealed = 0;
  Status done;
  while (done && sealed < chunks.size()) {
    SpooledChunk& chunk = chunks[sealed];
    if (chunk.sequence != last) chunk.only_with = last;
    done = Seal(state, directory, *files[sealed], chunk);
    if (done) ++sealed;
  }
  for (SpooledChunk& chunk : chunks) {
    if (done && chunk.only_with != 0) done = CountAlone(*state.files, chunk);
  }
  if (done) return {};
  // The last one first, without which the others do not count.
  UnwantedVersions unwanted{last, false, {}};
  while (sealed > 0) unwanted.chunks.push_back(chunks[--sealed]);
  TakeBack(state, directory, std::move(unwanted));
  return done;
}

Status SealMove(Spool::State& state, SpoolDirectory& directory, StagedFile::State& copy,
                StagedFile::State& removal, Spool::SealedMove& move) {
  UNSHARD_RETURN_IF_ERROR(Seal(state, directory, removal, move.removal));  // 1
  auto done = state.SyncRound(directory);
  if (done) done = Seal(state, directory, copy, move.copy);  // 2
  const bool copied = done.has_value();
  if (done) done = SyncChunks(state, {move.copy});  // 3
  if (done) done = CountAlone(*state.files, move.removal);
  if (!done) {
    // Where the copy may come back, the removal that needs it has to stay.
    UnwantedVersions unwanted{move.copy.sequence, copied, {}};
    if (copied) unwanted.chunks.push_back(move.copy);
    unwanted.chunks.push_back(move.removal);
    TakeBack(state, directory, std::move(unwanted));
    return done;
  }
  const std::lock_guard lock(state.mutex);
  directory.removed[move.copy.chunk] = directory.round_begun + 1;  // 4
  return {};
}

}  // namespace unshard
