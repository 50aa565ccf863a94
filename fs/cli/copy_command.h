// `unshard copy`: a dataset into another one, in any format, sharded or not.
#pragma once

#include <string>
#include <vector>

#include "fs/cli/create_command.h"

namespace unshard {

struct CopyCommand {
  std::string source;
  // The destination; where it describes a dataset, that is created first, unless it is there as
  // described: an interrupted copy goes on.
  CreateCommand create;
  std::vector<std::string> exclude;  // paths below the source
  bool verify = false;               // then read both again, and compare their voxels
  bool quiet = false;
};

// Shows progress on standard error. Returns the exit status of the program.
int RunCopy(const CopyCommand& command);

}  // namespace unshard
