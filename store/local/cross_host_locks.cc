#include "store/local/cross_host_locks.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <string_view>

#include "codec/core/text.h"

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

std::optional<std::string> WhyLocal(const MountEntry& mount) {
  if (IsOneOf(kWithoutLocks, mount.type)) return mount.type + " has no locks between hosts";
  for (const LocalOption& local : kLocalOptions) {
    if (local.type == mount.type && IsOneOf(mount.file_system_options, local.option)) {
      return mount.type + ", mounted with " + std::string(local.option) +
             ", has no locks between hosts";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyLocksAreLocal(const std::vector<MountEntry>& table, dev_t device) {
  for (const MountEntry& mount : table) {
    if (makedev(mount.major, mount.minor) == device) return WhyLocal(mount);
  }
  return std::nullopt;
}

std::optional<std::string> WhyLocksAreLocal(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const auto table = ReadMountTable();
  return table ? WhyLocksAreLocal(*table, status.st_dev) : std::nullopt;
}

}  // namespace unshard
