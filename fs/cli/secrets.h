// Keeps what may be a secret from where others look: the arguments of processes, and core dumps.
#pragma once

#include <string>
#include <vector>

namespace unshard {

// The arguments of this process. In place, where /proc/PID/cmdline shows them to all users, URLs
// lose their user information and query. To be called first, before threads.
std::vector<std::string> TakeArguments(int count, char** arguments);

// From now on core dumps of this process, and of those that it starts, have no memory in them:
// credentials of remote sources come from many places, and stay in buffers.
void KeepMemoryOutOfCoreDumps();

}  // namespace unshard
