// `unshard spool list|publish|export|drop`: spools without a mount.
#pragma once

#include <string>
#include <vector>

namespace unshard {

struct SpoolCommand {
  enum class Action { kList, kPublish, kExport, kDrop };
  Action action = Action::kList;
  std::string folder;               // of spools; "": where mounts have them by default
  std::string source;               // "": of every source
  std::string directory;            // kExport: where to
  bool verbose = false;             // kList
  std::vector<std::string> chunks;  // kDrop: as kList names them
  bool all = false;                 // kDrop: every quarantined chunk
};

// Returns the exit status of the program, after everything has been printed: 0 where nothing is
// left to do.
int RunSpool(const SpoolCommand& command);

}  // namespace unshard
