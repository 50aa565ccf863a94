// Other processes of this machine, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

// The processes that /proc shows, each with its folder there.
void ForEachProcess(const std::function<void(pid_t, const std::filesystem::path&)>& visit);
// The target of a link of /proc, unresolved; "" where it cannot be read.
std::string LinkTarget(const std::filesystem::path& link);

// Runs a program found in $PATH and waits for it; fails where it does.
Status RunProgram(const std::vector<std::string>& words);

// The inode number of a pid namespace: processes in one of them see the same process ids.
std::optional<std::uint64_t> OwnPidNamespace();
// False in a pid namespace below the machine's own, where some processes cannot be seen.
bool SeesAllProcesses();
// The process that has this id in that pid namespace, by its id in ours; nothing where it has
// ended, or cannot be seen from here.
std::optional<pid_t> FindProcess(pid_t id, std::uint64_t pid_namespace);

// Running processes that hold the device of the FUSE connection of this number; where the kernel
// does not show the connection of a process, all processes of unshard that hold any connection.
std::vector<pid_t> ServersOf(unsigned connection);

// "bash (123)": processes whose working directory, root or open files are below `mount_point`.
// Links of /proc are read and not followed, so that no request goes to the mount.
std::vector<std::string> ProcessesIn(const std::string& mount_point);

}  // namespace unshard
