#include "store/spool/move.h"

#include <algorithm>
#include <unordered_map>

#include "store/object/log.h"
#include "store/spool/recovery.h"
#include "store/spool/staged_file.h"
#include "store/spool/state.h"
#include "store/spool/sync.h"

namespace unshard {
namespace {

// A version that counts only with another one counts without it from now on.
Status CountAlone(FileSystem& files, SpooledChunk& chunk) {
  SpooledChunk alone = chunk;
  alone.only_with = 0;
  UNSHARD_RETURN_IF_ERROR(
      files.Rename(SealedPath(kChunksDirectory, chunk), SealedPath(kChunksDirectory, alone)));
  chunk = std::move(alone);
  return {};
}

// Removes a version that no caller has been given.
Status TakeBack(Spool::State& state, SpoolDirectory& directory, const SpooledChunk& chunk) {
  UNSHARD_RETURN_IF_ERROR(state.files->Remove(SealedPath(kChunksDirectory, chunk)));
  const std::lock_guard lock(state.mutex);
  state.ForgetVersion(directory, chunk);
  return {};
}

Status Seal(Spool::State& state, SpoolDirectory& directory, StagedFile::State& file,
            SpooledChunk& as) {
  const std::lock_guard lock(file.mutex);
  return state.SealAs(directory, file, as);
}

}  // namespace

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
  // The last one first, without which the others do not count; where it stays, all stay.
  for (Status back; back && sealed > 0;) {
    back = TakeBack(state, directory, chunks[--sealed]);
    if (!back) LogWarning(back.error().message);
  }
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
    Status back;
    if (copied) back = TakeBack(state, directory, move.copy);
    if (copied && back) back = state.SyncRound(directory);
    if (back) back = TakeBack(state, directory, move.removal);
    if (!back) LogWarning(back.error().message);
    return done;
  }
  const std::lock_guard lock(state.mutex);
  directory.removed[move.copy.chunk] = directory.round_begun + 1;  // 4
  return {};
}

}  // namespace unshard
