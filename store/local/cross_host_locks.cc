#include "store/local/cross_host_locks.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <vector>

namespace unshard {
namespace {

// Clients that keep locks to themselves, or ask no server for them, whatever their options.
constexpr std::array<std::string_view, 12> kWithoutLocks = {
    "fuse.sshfs",     "fuse.rclone",  "fuse.s3fs",     "fuse.goofys",
    "fuse.gcsfuse",   "fuse.geesefs", "fuse.mount-s3", "fuse.blobfuse",
    "fuse.curlftpfs", "fuse.davfs",   "davfs",         "fuse.mountpoint-s3"};
// Options by which a client keeps record locks to itself.
struct LocalOption {
  std::string_view type, option;
};
constexpr std::array<LocalOption, 9> kLocalOptions = {{{"nfs", "nolock"},
                                                       {"nfs", "local_lock=all"},
                                                       {"nfs", "local_lock=posix"},
                                                       {"nfs4", "local_lock=all"},
                                                       {"nfs4", "local_lock=posix"},
                                                       {"cifs", "nobrl"},
                                                       {"smb3", "nobrl"},
                                                       {"lustre", "localflock"},
                                                       {"lustre", "noflock"}}};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::string> WhyLocal(std::string_view type, std::string_view options) {
  if (std::find(kWithoutLocks.begin(), kWithoutLocks.end(), type) != kWithoutLocks.end()) {
    return std::string(type) + " has no locks between hosts";
  }
  for (const std::string_view option : Split(options, ',')) {
    for (const LocalOption& local : kLocalOptions) {
      if (local.type == type && local.option == option) {
        return std::string(type) + ", mounted with " + std::string(option) +
               ", has no locks between hosts";
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyLocksAreLocal(std::string_view mountinfo, std::string_view device) {
  for (const std::string_view line : Split(mountinfo, '\n')) {
    // "36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
    const std::vector<std::string_view> fields = Split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 3 || fields[2] != device || fields.end() - dash < 4) continue;
    return WhyLocal(dash[1], dash[3]);
  }
  return std::nullopt;
}

std::optional<std::string> WhyLocksAreLocal(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  std::ifstream file("/proc/self/mountinfo");
  const std::string mountinfo{std::istreambuf_iterator<char>(file), {}};
  return WhyLocksAreLocal(
      mountinfo, std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)));
}

}  // namespace unshard
