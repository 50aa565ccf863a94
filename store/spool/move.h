// The move of a chunk that takes another one's place and leaves its own: two sealed files, a copy
// and a removal, of which the next process has to find both or neither.
//
//   1. The removal is sealed with the number of the copy: without the copy it does not count. It
//      is durable before the copy is sealed.
//   2. The copy is sealed: from here on the move is done, whatever happens.
//   3. The copy is made durable, and the removal gets the name of any other removal.
//   4. The copy is removed, some time, after a round of fsyncing their directory that began after
//      step 3: without the copy a removal of step 1 would be taken back.
//
// What was cut off between 1 and 3 is ended when the spool is opened next.
#pragma once

#include <string>
#include <vector>

#include "store/spool/spool.h"

namespace unshard {

struct SpoolDirectory;

// Steps 1 to 3. `move` has the names, seals and numbers of both files, and gets what the files say
// themselves. Fails as sealing and fsyncing do; neither file counts then, unless even that cannot
// be written.
Status SealMove(Spool::State& state, SpoolDirectory& directory, StagedFile::State& copy,
                StagedFile::State& removal, Spool::SealedMove& move);

// Ends the moves that were cut off, among all whole files of the directory `path`: a removal whose
// copy is there counts from now on, any other one is removed, also from `chunks`.
Status EndMoves(FileSystem& files, const std::string& path, std::vector<SpooledChunk>& chunks);

}  // namespace unshard
