// How chunks of the spool become durable, and how they are removed.
//
// Syncing:
//   1. One thread fsyncs the file of each version; others that want the same version wait. A file
//      whose fsync fails is written once more, to a new file that takes its name.
//   2. A round of fsyncing their directory makes the names durable. A caller that comes while a
//      round runs waits for the next, which serves all that wait.
//   3. The version is durable: earlier versions, which were kept in case it got lost, are removed.
//
// Discarding:
//   4. This version is superseded: it can no longer be opened. Where a later one is there that is
//      not, and a program may rely on this one after a power loss, it stays until the later one is
//      durable. Where none is, all versions go, the earliest first; if an earlier one has not been
//      discarded yet (its discarding and the publishing of this one have met), they stay until it
//      is: alone it would be published over what the store has by now.
//   5. A power loss may bring a removed file back. An earlier version must not come back alone: it
//      would be published over the later one. So the latest one of a chunk is removed after a round
//      that began after the removal of all earlier ones, and it is fsynced before it is published
//      where there were earlier ones: once the store has it, losing it alone would let them back
//      in.
#pragma once

#include <vector>

#include "store/spool/spool.h"

namespace unshard {

// The methods of Spool, as declared there.
Status SyncChunks(Spool::State& state, const std::vector<SpooledChunk>& chunks);
Status SyncRewritten(Spool::State& state, const std::vector<SpooledChunk>& chunks);
Status DiscardChunk(Spool::State& state, const SpooledChunk& chunk);
Status QuarantineChunk(Spool::State& state, const SpooledChunk& chunk);

}  // namespace unshard
