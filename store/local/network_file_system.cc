#include "store/local/network_file_system.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace unshard {
namespace {

// statfs f_type, where <linux/magic.h> does not name them.
constexpr std::uint32_t kLustre = 0x0BD00BD0;
constexpr std::uint32_t kGpfs = 0x47504653;
constexpr std::uint32_t kBeeGfs = 0x19830326;
constexpr std::uint32_t kPanFs = 0xAAD7AAEA;
constexpr std::uint32_t kGfs2 = 0x01161970;
constexpr std::uint32_t kOrangeFs = 0x20030528;
constexpr std::uint32_t kVmwareShared = 0xBACBACBC;
constexpr std::uint32_t kVirtualBoxShared = 0x786F4256;

constexpr std::array<std::uint32_t, 20> kNetworkFileSystems = {NFS_SUPER_MAGIC,
                                                               SMB_SUPER_MAGIC,
                                                               CIFS_SUPER_MAGIC,
                                                               SMB2_SUPER_MAGIC,
                                                               FUSE_SUPER_MAGIC,
                                                               V9FS_MAGIC,
                                                               CEPH_SUPER_MAGIC,
                                                               AFS_SUPER_MAGIC,
                                                               AFS_FS_MAGIC,
                                                               CODA_SUPER_MAGIC,
                                                               NCP_SUPER_MAGIC,
                                                               OCFS2_SUPER_MAGIC,
                                                               kLustre,
                                                               kGpfs,
                                                               kBeeGfs,
                                                               kPanFs,
                                                               kGfs2,
                                                               kOrangeFs,
                                                               kVmwareShared,
                                                               kVirtualBoxShared};

bool IsNetwork(const struct statfs& status) {
  const auto type = static_cast<std::uint32_t>(status.f_type);
  return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), type) !=
         kNetworkFileSystems.end();
}

}  // namespace

bool IsNetworkFileSystem(const std::string& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) != 0 || IsNetwork(status);
}

bool IsNetworkFileSystem(int descriptor) {
  struct statfs status {};
  return ::fstatfs(descriptor, &status) != 0 || IsNetwork(status);
}

}  // namespace unshard
