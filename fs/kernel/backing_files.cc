#include "fs/kernel/backing_files.h"

#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "store/object/log.h"

namespace unshard {
namespace {

// Of Linux 6.9; the headers may be older.
struct BackingMap {
  std::int32_t descriptor = -1;
  std::uint32_t flags = 0;
  std::uint64_t padding = 0;
};
constexpr unsigned long kBackingOpen = _IOW(229, 1, BackingMap);
constexpr unsigned long kBackingClose = _IOW(229, 2, std::uint32_t);

}  // namespace

std::uint32_t BackingFiles::OpenBacking(int descriptor) {
  if (device_ < 0 || descriptor < 0 || refused_) return 0;
  BackingMap map;
  map.descriptor = descriptor;
  const int backing = ioctl(device_, kBackingOpen, &map);
  if (backing > 0) return static_cast<std::uint32_t>(backing);
  // EPERM and ENOTTY: for every file. ELOOP and others: for this file alone.
  refused_ = errno == EPERM || errno == ENOTTY;
  LogDebug(std::string("FUSE passthrough: ") + std::strerror(errno));
  return 0;
}

std::uint32_t BackingFiles::Opened(NodeId node, int descriptor) {
  const std::lock_guard lock(mutex_);
  Open& open = open_[node];
  if (open.count++ == 0) open.backing = OpenBacking(descriptor);
  return open.backing;
}

void BackingFiles::Released(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(node);
  if (found == open_.end() || --found->second.count != 0) return;
  std::uint32_t backing = found->second.backing;
  open_.erase(found);
  if (backing != 0) ioctl(device_, kBackingClose, &backing);
}

}  // namespace unshard
