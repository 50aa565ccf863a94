#include "fs/kernel/mount_namespace.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "fs/common/process_table.h"
#include "store/local/mount_table.h"

namespace unshard {
namespace {

// PROC_USER_INIT_INO: that of the machine itself.
constexpr const char* kFirstUserNamespace = "user:[4026531837]";

std::string OwnMountNamespace() { return LinkTarget("/proc/self/ns/mnt"); }

// A user who may not inspect processes of other users can only make mount namespaces inside user
// namespaces of their own.
bool IsInFirstUserNamespace() { return LinkTarget("/proc/self/ns/user") == kFirstUserNamespace; }

bool IsOfProcess1(const std::string& mount_namespace) {
  std::string first = LinkTarget("/proc/1/ns/mnt");
  // Process 1 may have rights that the caller lacks; kthreadd stays in its namespace.
  if (first.empty() && SeesAllProcesses()) first = LinkTarget("/proc/2/ns/mnt");
  return first.empty() ? IsInFirstUserNamespace() : first == mount_namespace;
}

bool IsKeptByFile(const std::string& mount_namespace) {
  const auto is_it = [&](const MountEntry& entry) { return entry.root == mount_namespace; };
  for (const char* process : {"/proc/1", "/proc/self"}) {
    const auto table = ReadMountTable(process);
    if (table && std::any_of(table->begin(), table->end(), is_it)) return true;
  }
  return false;
}

}  // namespace

bool MountNamespaceEndsWithProcesses() {
  // A /proc of another pid namespace shows other processes.
  if (LinkTarget("/proc/self") != std::to_string(getpid())) return false;
  const std::string own = OwnMountNamespace();
  return !own.empty() && !IsOfProcess1(own) && !IsKeptByFile(own);
}

std::optional<pid_t> OtherInMountNamespace() {
  const std::string own = OwnMountNamespace();
  const std::string program = LinkTarget("/proc/self/exe");
  std::optional<pid_t> found;
  bool sees_itself = false;
  const bool hidden_may_be_inside = IsInFirstUserNamespace();
  ForEachProcess([&](pid_t pid, const std::filesystem::path& process) {
    if (pid == getpid()) sees_itself = true;
    if (found || pid == getpid() || pid == 1) return;
    std::error_code failed;
    const auto theirs = std::filesystem::read_symlink(process / "ns" / "mnt", failed);
    const bool inside =
        failed ? hidden_may_be_inside && failed == std::errc::permission_denied : theirs == own;
    if (inside && LinkTarget(process / "exe") != program) found = pid;
  });
  return sees_itself && !own.empty() ? found : getpid();
}

}  // namespace unshard
