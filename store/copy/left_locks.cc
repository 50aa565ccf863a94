#include "store/copy/left_locks.h"

#include <string_view>

#include "store/local/shard_lock.h"

namespace unshard {

Status RemoveLeftLocks(FileSystem& files, ObjectReplacer& replacer, const std::string& key) {
  for (const std::string_view suffix : {kLockSuffix, kVersionSuffix}) {
    UNSHARD_ASSIGN_OR_RETURN(const auto left, files.Stat(key + std::string(suffix)));
    if (!left) continue;
    // A replacement that is not committed removes both.
    UNSHARD_RETURN_IF_ERROR(replacer.Begin({key, std::nullopt}, CallerDeadline()));
    break;
  }
  return {};
}

}  // namespace unshard
