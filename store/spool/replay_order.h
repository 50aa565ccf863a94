// In which order the chunks of several spools are taken up again.
#pragma once

#include <vector>

#include "store/spool/spool.h"

namespace unshard {

// One chunk, and which of the spools it is in.
struct ReplayedChunk {
  std::size_t spool = 0;
  SpooledChunk chunk;
};

// `spools` hold the chunks of each spool in order of sequence, which is kept: times may be those of
// a clock that was set back. Spools are merged by the times of what comes next in each. Pure.
std::vector<ReplayedChunk> InReplayOrder(std::vector<std::vector<SpooledChunk>> spools);

}  // namespace unshard
