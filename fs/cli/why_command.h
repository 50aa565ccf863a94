// `unshard why`: explains the last failure on a path of a mount.
#pragma once

#include <string>

namespace unshard {

// Asks the mount that holds `path`, which need not exist. Returns the exit status of the program:
// 0 where a failure was found and explained.
int RunWhy(const std::string& path);

}  // namespace unshard
