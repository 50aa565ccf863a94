// Several sealed files of which the next process has to find all or none: each but the last one is
// sealed with the number of that one, and does not count without it. Once the last one is sealed
// the others get the names that they would have alone, before a program or a publish hears of them.
//
// The move of a chunk that takes another one's place and leaves its own is such a pair, a copy and
// a removal, and keeps to that even where the power fails:
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

// Seals `files` as `chunks`, which have all that the files do not say themselves, get that, and are
// in order of sequence. Fails as sealing does; none of them counts then or, where even that cannot
// be written, all of them do for the next Open(), unless TakeBackUnwanted() comes before it.
Status SealTogether(Spool::State& state, SpoolDirectory& directory,
                    const std::vector<StagedFile::State*>& files,
                    std::vector<SpooledChunk>& chunks);

// Steps 1 to 3. `move` has the names, seals and numbers of both files, and gets what the files say
// themselves. Fails as sealing and fsyncing do; neither file counts then, unless even that cannot
// be written.
Status SealMove(Spool::State& state, SpoolDirectory& directory, StagedFile::State& copy,
                StagedFile::State& removal, Spool::SealedMove& move);

// Tries again to remove what commits that failed could not remove.
void TakeBackUnwanted(Spool::State& state);

// Ends what was cut off, among all whole files of the directory `path`. If a file counts only with
// another, it counts from now on if the other exists; else it is removed, also from `chunks`.
Status EndMoves(FileSystem& files, const std::string& path, std::vector<SpooledChunk>& chunks);

}  // namespace unshard
