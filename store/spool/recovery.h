// What is done with a spool that is there when it is opened:
//
//   1. What was only staged is removed.
//   2. Every sealed file is read and compared with its seal; a file that does not match is moved to
//      damaged/.
//   3. Moves that were cut off are finished, or undone (store/spool/move.cc). Of each chunk only
//      the latest version stays. It is fsynced before earlier ones are removed: the power may fail
//      next.
//   4. Each directory is fsynced, so that no file that is gone now comes back after a power loss
//      under a number that is used again.
#pragma once

#include "store/spool/spool.h"

namespace unshard {

// Reads the spool in the root into `state`.
Status RecoverSpool(Spool::State& state);

// Fails with kInvalidArgument, naming what the root holds, if it is neither empty nor a spool.
Status CheckSpoolRoot(FileSystem& files);

// Removes all staged files, which are those that NextStagedPath names.
Status RemoveStaged(FileSystem& files);

// Fsyncs the bytes of a sealed chunk that no version in `Spool::State` has. kNotFound where
// its file is gone.
Status SyncSealed(FileSystem& files, const SpooledChunk& chunk);

}  // namespace unshard
