// `unshard spool list|publish|export`: spools without a mount.
#pragma once

#include <string>

namespace unshard {

struct SpoolCommand {
  enum class Action { kList, kPublish, kExport };
  Action action = Action::kList;
  std::string folder;     // of spools; "": where mounts have them by default
  std::string source;     // "": of every source
  std::string directory;  // kExport: where to
  bool verbose = false;   // kList
};

// Returns the exit status of the program, after everything has been printed: 0 where nothing is
// left to do.
int RunSpool(const SpoolCommand& command);

}  // namespace unshard
