#include "store/dataset/document_freshness.h"

#include <optional>
#include <utility>

#include "store/object/key.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

// File systems count time in ticks of some milliseconds, some in seconds.
constexpr time_t kSettledSeconds = 2;

bool IsSettled(const timespec& modified) {
  return modified.tv_sec + kSettledSeconds < TimeNow().tv_sec;
}

}  // namespace

bool IsOfVersion(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotSupported:
    case ErrorCode::kDataLoss:
      return true;
    case ErrorCode::kPermissionDenied:   // a key that leads out of the source
    case ErrorCode::kResourceExhausted:  // one of our limits
      return error.system_errno == 0;
    default:
      return false;
  }
}

Result<bool> IsVersion(ObjectStore& store, const std::string& key, const ObjectInfo& read) {
  UNSHARD_ASSIGN_OR_RETURN(const auto now, store.Stat(key, CallerDeadline()));
  return now && now->kind != ObjectInfo::Kind::kDirectory && now->generation == read.generation;
}

Result<bool> AreVersions(ObjectStore& store, const std::string& directory,
                         const DocumentVersions& read) {
  for (const auto& [path, version] : read) {
    UNSHARD_ASSIGN_OR_RETURN(const bool same, IsVersion(store, JoinPath(directory, path), version));
    if (!same) return false;
  }
  return true;
}

DocumentFreshness::DocumentFreshness(std::shared_ptr<ObjectStore> store,
                                     std::shared_ptr<ChangeWatcher> watcher,
                                     const ShardSetOptions& options)
    : store_(std::move(store)), watcher_(std::move(watcher)), options_(options) {}

bool DocumentFreshness::follows() const {
  return watcher_ && !options_.immutable && store_->capabilities().keeps_replaced_versions;
}

DocumentFreshness::Seen DocumentFreshness::Look(const std::string& directory, bool watch) const {
  Seen seen;
  if (!follows()) return seen;
  seen.watched = watch && watcher_->Watch(directory);
  seen.when = options_.clock();
  const auto info = store_->Stat(directory, CallerDeadline());
  if (info && *info && IsSettled((*info)->modified)) seen.directory = (*info)->generation;
  return seen;
}

void DocumentFreshness::Note(const std::string& directory, Seen seen, DocumentVersions documents) {
  if (!follows()) return;
  const std::lock_guard lock(mutex_);
  read_[directory] = {std::move(seen), std::move(documents)};
}

void DocumentFreshness::Forget(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  read_.erase(directory);
}

bool DocumentFreshness::IsRead(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  return !follows() || read_.contains(directory);
}

bool DocumentFreshness::IsGood(const std::string& directory) const {
  if (!follows()) return true;
  const bool watched = watcher_->Watch(directory);
  const auto ttl = std::chrono::milliseconds(options_.ttl_milliseconds);
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(directory);
  if (found == read_.end()) return false;
  const Seen& seen = found->second.seen;
  return watched ? seen.watched : options_.clock() - seen.when < ttl;
}

Result<bool> DocumentFreshness::IsUpToDate(const std::string& directory,
                                           std::span<const std::string_view> names) {
  Seen now = Look(directory, true);
  std::optional<Read> before;
  {
    const std::lock_guard lock(mutex_);
    const auto found = read_.find(directory);
    if (found != read_.end()) before = found->second;
  }
  if (!before) return false;
  UNSHARD_ASSIGN_OR_RETURN(const bool as_read, AreVersions(*store_, directory, before->documents));
  if (!as_read) return false;
  const bool none_came =
      !now.directory.tag.empty() && now.directory.tag == before->seen.directory.tag;
  for (const std::string_view name : names) {
    if (none_came || before->documents.contains(std::string(name))) continue;
    UNSHARD_ASSIGN_OR_RETURN(const auto come,
                             store_->Stat(JoinPath(directory, name), CallerDeadline()));
    if (come && come->kind != ObjectInfo::Kind::kDirectory) return false;
  }
  Note(directory, std::move(now), std::move(before->documents));
  return true;
}

}  // namespace unshard
