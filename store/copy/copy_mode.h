// What a copy may do to its destination.
#pragma once

namespace unshard {

struct CopyMode {
  bool only_reads = false;  // it is compared, and not changed
  bool removes = false;     // removes chunks that the source lacks
  bool replaces = false;    // copies also the chunks and files that it has already
};

}  // namespace unshard
