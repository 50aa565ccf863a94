// `unshard flush`, `unshard status` and `unshard umount`: requests to a running mount. Each prints
// its messages and returns the exit status of the program.
#pragma once

#include <string>

namespace unshard {

int RunFlush(const std::string& mount_point);

struct StatusCommand {
  std::string mount_point;
  bool watch = false;
  bool json = false;
};
int RunStatus(const StatusCommand& command);

// What umount(8) asks of its helper. kLazy (-l): unmounts although programs use the mount, and does
// not wait for its process. kForced (-f): publishes nothing, and ends what waits for the mount.
enum class Unmounting { kOrderly, kLazy, kForced };
// Publishes, unmounts even where that fails, and waits for the process of the mount to end.
int RunUmount(const std::string& mount_point, Unmounting how = Unmounting::kOrderly);

}  // namespace unshard
