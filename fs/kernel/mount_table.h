// The kernel's table of mounts (/proc/self/mountinfo), and operations on a mount of ours that send
// it no request: a mount whose process is gone may never answer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

struct MountEntry {
  std::uint64_t id = 0;  // of the mount; given to another one after the unmount
  unsigned major = 0;
  unsigned minor = 0;  // of a FUSE mount: the number of its connection
  std::string root;    // the directory of that file system which is mounted
  std::string mount_point;
  bool read_only = false;
  bool shared = false;  // mounts below it are propagated to its peers
  std::string type;     // "fuse.unshard"
  std::string source;
  [[nodiscard]] bool is_ours() const { return type == "fuse.unshard"; }
};

// Parses the text of /proc/PID/mountinfo; lines of another form are left out.
std::vector<MountEntry> ParseMountTable(std::string_view text);
// `process`: its directory in /proc. Fails where the file cannot be read.
Result<std::vector<MountEntry>> ReadMountTable(const std::string& process = "/proc/self");

// The mount on top of those at exactly this path; nothing where none is.
std::optional<MountEntry> TopMountAt(const std::vector<MountEntry>& table, std::string_view path);
// The innermost mount that holds this absolute path; nothing where the table has no root.
std::optional<MountEntry> MountHolding(const std::vector<MountEntry>& table, std::string_view path);
// Whether `path` is at or below `directory`, or is so by another path: both are looked for in the
// file systems that hold them, of which bind mounts show the same directory in several places.
// Absolute paths without links; they need not exist.
bool IsInside(const std::vector<MountEntry>& table, const std::string& path,
              const std::string& directory);
// The absolute path of a mount point as the table spells it. Resolves links in all components but
// does not ask the file system that is mounted there.
std::string MountPointPath(const std::string& path);

enum class MountHealth {
  kAnswers,
  kDead,    // its process is gone
  kSilent,  // does not answer, although a process that may serve it runs
};
// Sends a request to the mount from a process of its own, which may be left waiting. `servers`,
// where given, gets the processes that serve a silent mount. Takes at most twenty seconds.
MountHealth HealthOf(const MountEntry& mount, std::vector<pid_t>* servers = nullptr);

// Aborts the connection of a FUSE mount: pending and later requests fail with ECONNABORTED. The
// mount itself stays. Fails with kPermissionDenied where neither /sys/fs/fuse/connections nor
// umount2(2) lets the caller do it.
Status AbortConnection(const MountEntry& mount);
// Opens the file that aborts this connection, and no later one of the same number, when it is
// written to; -1 where the caller has no access to it.
int OpenAbortFile(const MountEntry& mount);

// Aborts the connection of a mount whose process is gone, and unmounts it, even where programs have
// their working directory in it.
Status RemoveDeadMount(const MountEntry& mount);

// Processes, as seen from here, that have files of this mount open or their working directory in
// it: "bash (123)". Only those that the caller may inspect.
std::vector<std::string> HoldersOf(const MountEntry& mount);

}  // namespace unshard
