#include "store/local/open_directories.h"

#include <fcntl.h>

#include <algorithm>

#include "store/object/key.h"

namespace unshard {

Result<OpenDirectories::Descriptor> OpenDirectories::Get(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const auto& one) { return one.first == path; });
    if (found != open_.end()) return found->second;
  }
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor opened, root_.OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  if (!opened.valid()) return nullptr;
  auto descriptor = std::make_shared<const FileDescriptor>(std::move(opened));
  Descriptor dropped;  // closed once the lock is released
  const std::lock_guard lock(mutex_);
  if (open_.size() >= kMost) {
    dropped = std::move(open_.front().second);
    open_.erase(open_.begin());
  }
  open_.emplace_back(path, descriptor);
  return descriptor;
}

void OpenDirectories::Forget(const std::string& path) {
  std::vector<std::pair<std::string, Descriptor>> dropped;  // closed once the lock is released
  const std::lock_guard lock(mutex_);
  const auto kept = std::stable_partition(
      open_.begin(), open_.end(), [&](const auto& one) { return !IsAtOrBelow(one.first, path); });
  std::move(kept, open_.end(), std::back_inserter(dropped));
  open_.erase(kept, open_.end());
}

}  // namespace unshard
