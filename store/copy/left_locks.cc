#include "store/copy/left_locks.h"

namespace unshard {

Status RemoveLeftLocks(FileSystem& files, ObjectReplacer& replacer, const std::string& key) {
  for (const char* suffix : {".__lock", ".new.__lock"}) {
    UNSHARD_ASSIGN_OR_RETURN(const auto left, files.Stat(key + suffix));
    if (!left) continue;
    // A replacement that is not committed removes both.
    UNSHARD_RETURN_IF_ERROR(replacer.Begin({key, std::nullopt}, CallerDeadline()));
    break;
  }
  return {};
}

}  // namespace unshard
