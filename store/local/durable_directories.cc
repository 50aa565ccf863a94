#include "store/local/durable_directories.h"

#include <algorithm>

#include "store/object/key.h"
#include "store/object/object_store.h"

namespace unshard {
namespace {

constexpr std::size_t kMostKnown = 4096;

bool IsDirectoryWithBirth(const FileStatus& status) {
  return status.kind == FileStatus::Kind::kDirectory &&
         (status.born.tv_sec != 0 || status.born.tv_nsec != 0);
}

}  // namespace

bool DurableDirectories::IsKnown(const std::string& path, const FileStatus& status) const {
  if (!IsDirectoryWithBirth(status)) return false;
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(path);
  return found != known_.end() && found->second.device == status.device &&
         found->second.inode == status.inode && found->second.born.tv_sec == status.born.tv_sec &&
         found->second.born.tv_nsec == status.born.tv_nsec;
}

void DurableDirectories::Remember(const std::string& path, const FileStatus& status) {
  if (!IsDirectoryWithBirth(status)) return;
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_[path] = {status.device, status.inode, status.born};
}

Status DurableDirectories::Make(FileSystem& files, const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  if (path.empty()) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto there, files.Stat(path));
  if (there && IsKnown(path, *there)) return {};
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    UNSHARD_RETURN_IF_ERROR(MakeOne(files, path.substr(0, end)));
  }
  return {};
}

// Its attributes are read before its name is fsynced: a directory that takes its place later is
// another one.
Status DurableDirectories::MakeOne(FileSystem& files, const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(files.MakeDirectory(path));
  UNSHARD_ASSIGN_OR_RETURN(const auto made, files.Stat(path));
  if (made && IsKnown(path, *made)) return {};
  // Also where it was there: the process that made it may have died before it was durable.
  UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(ParentPath(path)));
  if (made) Remember(path, *made);
  return {};
}

}  // namespace unshard
