// `unshard list`: all mounts of this machine, and what they have not published.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/kernel/fuse_mount.h"
#include "fs/mount/mount_status.h"

namespace unshard {

struct ListedMount {
  enum class State {
    kServing,
    kDead,        // its process is gone
    kSilent,      // does not answer in time
    kUnreadable,  // of another user, without allow_other
    kHidden,      // another mount covers it, or only a part of it is mounted there
    kUnknown,     // its status cannot be read, for another reason, or not be parsed
  };
  MountEntry entry;
  State state = State::kSilent;
  std::optional<MountStatus> status;  // kServing
  std::string reason;                 // kUnknown
};

// Lines for people, and one JSON object for programs.
std::string DescribeMounts(const std::vector<ListedMount>& mounts);
std::string MountsJson(const std::vector<ListedMount>& mounts);

// Prints the list, waiting for no mount longer than some seconds. Returns the exit status of the
// program.
int RunList(bool json);

}  // namespace unshard
