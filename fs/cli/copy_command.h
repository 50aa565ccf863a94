// `unshard copy`: a dataset into another one, in any format, sharded or not.
#pragma once

#include <string>
#include <vector>

#include "fs/cli/create_command.h"

namespace unshard {

struct CopyCommand {
  std::string source;
  // The destination; where it describes a dataset, that is created first, unless it is there as
  // described: an interrupted copy goes on. Where nothing is there it becomes like the source.
  CreateCommand create;
  std::vector<std::string> exclude;  // paths below the source
  // Then read both again, and compare their voxels. Alone, with a destination that is there, it
  // compares and nothing else: the destination is only read.
  bool verify = false;
  bool deletes = false;   // chunks of the destination that the source lacks
  bool replaces = false;  // copies also the chunks and files that the destination has already
  bool strict = false;    // refuse what the format of the destination cannot say, and copy nothing
  bool dry_run = false;   // print the plan, and write nothing
  bool quiet = false;
};

// Shows progress on standard error. Returns the exit status of the program.
int RunCopy(const CopyCommand& command);

}  // namespace unshard
