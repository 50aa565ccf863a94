// A chunk that takes another one's place and leaves its own: two files, of which the next process
// has to find both or neither.
//
//   1. The removal is sealed with the number of the copy: without the copy it does not count. It
//      lasts before the copy comes.
//   2. The copy is sealed: from here on the move is done, whatever happens.
//   3. The copy is made to last, and the removal gets the name of any other removal.
//   4. The copy is removed, some time, after a round of syncing their directory that began after
//      step 3: without the copy a removal of step 1 would be taken back.
//
// What was cut off between 1 and 3 is ended when the spool is opened next.
#include <unordered_map>

#include "store/object/log.h"
#include "store/spool/state.h"

namespace unshard {
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
