#include "store/local/file_system.h"

#include <algorithm>

#include "store/local/shard_lock.h"
#include "store/object/key.h"
#include "store/object/object_store.h"

namespace unshard {

Status MakeDirectories(FileSystem& files, const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  std::string parent;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    UNSHARD_RETURN_IF_ERROR(files.MakeDirectory(path.substr(0, end)));
    // Also where it was there: whoever made it may have died before it lasted.
    UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(parent));
    parent = path.substr(0, end);
    begin = end + 1;
  }
  return {};
}

Result<std::vector<std::string>> SortedNames(FileSystem& files, const std::string& directory) {
  std::vector<std::string> names;
  UNSHARD_RETURN_IF_ERROR(files.List(directory, [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  }));
  std::sort(names.begin(), names.end());
  return names;
}

Status ReplaceFile(FileSystem& files, const std::string& path, ByteSpan bytes) {
  UNSHARD_ASSIGN_OR_RETURN(ShardLock lock, ShardLock::Acquire(files, path));
  const auto replace = [&]() -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> before, files.Open(path, {}));
    if (before) UNSHARD_RETURN_IF_ERROR(lock.version()->TakeAttributesOf(*before));
    UNSHARD_RETURN_IF_ERROR(lock.version()->Write(0, bytes));
    UNSHARD_RETURN_IF_ERROR(lock.version()->Sync());
    return files.Rename(lock.version_path(), path);
  };
  const Status replaced = replace();
  lock.Remove(files);
  UNSHARD_RETURN_IF_ERROR(replaced);
  return files.SyncDirectory(ParentPath(path));
}

}  // namespace unshard
