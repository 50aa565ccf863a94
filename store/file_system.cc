#include "store/file_system.h"

#include "store/kv_store.h"

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

}  // namespace unshard
