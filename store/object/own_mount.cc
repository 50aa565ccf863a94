#include "store/object/own_mount.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace unshard {

bool OwnMount::Holds(int descriptor) const {
  if (!known()) return false;
  // Requests no attribute but the device, and no sync: the kernel answers this for a FUSE file
  // without a request to its server.
  struct statx status {};
  constexpr int kHow = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(descriptor, "", kHow, 0, &status) != 0) return false;
  return makedev(status.stx_dev_major, status.stx_dev_minor) == device_;
}

}  // namespace unshard
