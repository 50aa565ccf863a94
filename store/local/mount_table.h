// The kernel's table of mounts, /proc/PID/mountinfo (proc(5)), and where paths are in it. Sends no
// request to the file systems that are mounted: one of them may never answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

struct MountEntry {
  std::uint64_t id = 0;  // of the mount; given to another one after the unmount
  unsigned major = 0;    // the device number of the file system
  unsigned minor = 0;    // of FUSE: the number of the connection
  std::string root;      // the directory of that file system which is mounted
  std::string mount_point;
  bool read_only = false;  // the mount, or the file system
  bool shared = false;     // mounts below it are propagated to its peers
  std::string type;        // "ext4", "fuse.unshard"
  std::string source;      // may be empty
  // Of the file system, not of this mount: "rw", "vers=3", "nolock".
  std::vector<std::string> file_system_options;

  [[nodiscard]] bool is_on_device_of(const MountEntry& other) const {
    return major == other.major && minor == other.minor;
  }
  friend bool operator==(const MountEntry&, const MountEntry&) = default;
};

// In the order of the table: of two mounts at one path the later one covers the earlier one. The
// escapes of paths and sources are undone. Lines of another form are left out.
std::vector<MountEntry> ParseMountTable(std::string_view text);
// `process`: its directory in /proc. Fails with kUnavailable where the table cannot be read.
Result<std::vector<MountEntry>> ReadMountTable(const std::string& process = "/proc/self");

// The following take absolute paths without links, which need not exist.

// The mount on top of those at exactly this path; nothing where none is.
std::optional<MountEntry> TopMountAt(const std::vector<MountEntry>& table, std::string_view path);
// The innermost mount that holds this path; nothing where the table has no root.
std::optional<MountEntry> MountHolding(const std::vector<MountEntry>& table, std::string_view path);
// Whether `path` is at or below `directory`, or is so by another path: both are looked for in the
// file systems that hold them, of which bind mounts show the same directory in several places.
bool IsInside(const std::vector<MountEntry>& table, std::string_view path,
              std::string_view directory);

}  // namespace unshard
