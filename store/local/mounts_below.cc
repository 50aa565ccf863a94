#include "store/local/mounts_below.h"

#include <fcntl.h>

#include <utility>

#include "store/local/mount_table.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// Without a request to what is mounted there.
FileDescriptor OpenMountPoint(const MountEntry& entry) {
  return FileDescriptor(::open(entry.mount_point.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

MountsBelow::MountsBelow(std::string directory, std::shared_ptr<const OwnMount> own)
    : directory_(directory == "/" ? "" : std::move(directory)),
      own_(std::move(own)),
      table_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      mounts_(Read()) {}

std::vector<MountsBelow::Mounted> MountsBelow::Read() const {
  std::vector<Mounted> found;
  const auto table = ReadMountTable();
  if (!table) return found;
  for (const MountEntry& entry : *table) {
    if (!IsAtOrBelow(entry.mount_point, directory_)) continue;
    const bool may_be_own = own_ && entry.type.starts_with("fuse");
    if (may_be_own && own_->Holds(OpenMountPoint(entry).get())) continue;
    found.push_back({entry.id, entry.major, entry.minor, entry.root, entry.mount_point});
  }
  return found;
}

bool MountsBelow::Changed() {
  std::vector<Mounted> now = Read();
  const bool changed = now != mounts_;
  mounts_ = std::move(now);
  return changed;
}

}  // namespace unshard
