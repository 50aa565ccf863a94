#include "store/local/durable_directories.h"

#include <algorithm>
#include <cerrno>

#include "store/object/key.h"
#include "store/object/object_store.h"

namespace unshard {
namespace {

constexpr std::size_t kMostSynced = 4096;
// More than a tick of the clocks that file systems take their times from; of those that keep whole
// seconds, more than the two of the coarsest.
constexpr std::int64_t kTickNanoseconds = 50'000'000;
constexpr std::int64_t kTickSeconds = 3;
constexpr std::int64_t kSecond = 1'000'000'000;

bool IsSettled(const timespec& changed, const timespec& now) {
  const std::int64_t seconds = now.tv_sec - changed.tv_sec;
  if (seconds > kTickSeconds) return true;
  const bool whole_seconds = changed.tv_nsec == 0;
  const std::int64_t age = seconds * kSecond + (now.tv_nsec - changed.tv_nsec);
  return age > (whole_seconds ? kTickSeconds * kSecond : kTickNanoseconds);
}

}  // namespace

bool DurableDirectories::IsSynced(const std::string& path, const FileStatus& status) const {
  const std::lock_guard lock(mutex_);
  const auto found = synced_.find(path);
  return found != synced_.end() && found->second.device == status.device &&
         found->second.inode == status.inode &&
         found->second.changed.tv_sec == status.changed.tv_sec &&
         found->second.changed.tv_nsec == status.changed.tv_nsec;
}

void DurableDirectories::Remember(const std::string& path, const FileStatus& status) {
  const std::lock_guard lock(mutex_);
  if (synced_.size() >= kMostSynced) synced_.clear();
  synced_[path] = {status.device, status.inode, status.changed};
}

Status DurableDirectories::Make(FileSystem& files, const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  if (path.empty()) return {};
  std::string above;
  UNSHARD_ASSIGN_OR_RETURN(auto status_above, files.Stat(above));
  while (above != path) {
    const std::size_t begin = above.empty() ? 0 : above.size() + 1;
    const std::string name = path.substr(0, path.find('/', begin));
    UNSHARD_ASSIGN_OR_RETURN(auto status, files.Stat(name));
    const bool is_there = status && status->kind == FileStatus::Kind::kDirectory;
    if (!is_there) UNSHARD_RETURN_IF_ERROR(files.MakeDirectory(name));
    if (!is_there || !status_above || !IsSynced(above, *status_above)) {
      UNSHARD_RETURN_IF_ERROR(SyncNamesIn(files, above, !is_there));
      UNSHARD_ASSIGN_OR_RETURN(status, files.Stat(name));
    }
    status_above = status;
    above = name;
  }
  return {};
}

// Its time is read before its names are fsynced: what changes later has another time.
Status DurableDirectories::SyncNamesIn(FileSystem& files, const std::string& path, bool has_new) {
  const timespec now = now_();
  UNSHARD_ASSIGN_OR_RETURN(const auto status, files.Stat(path));
  auto synced = files.SyncDirectory(path);
  // It has to be opened for that, which replacing a file below does not need.
  if (!synced && synced.error().system_errno == EACCES && !has_new) return {};
  if (synced && status && IsSettled(status->changed, now)) Remember(path, *status);
  return synced;
}

}  // namespace unshard
