#include "store/source/all_views.h"

#include <utility>

#include "store/object/key.h"
#include "store/views/views.h"

namespace unshard {

PathInView SplitView(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {path, {}};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

AllViewsStore::AllViewsStore(std::shared_ptr<ObjectStore> below) : below_(std::move(below)) {
  for (const std::string_view name : AllViewNames()) views_.emplace(name);
}

void AllViewsStore::Hide(std::string_view view) {
  const std::lock_guard lock(mutex_);
  const auto found = views_.find(view);
  if (found != views_.end()) views_.erase(found);
}

std::set<std::string, std::less<>> AllViewsStore::views() const {
  const std::lock_guard lock(mutex_);
  return views_;
}

std::optional<std::string> AllViewsStore::KeyBelow(std::string_view key) const {
  const PathInView split = SplitView(key);
  const std::lock_guard lock(mutex_);
  if (!views_.contains(split.view)) return std::nullopt;
  return std::string(split.path);
}

Result<std::optional<ObjectInfo>> AllViewsStore::Stat(std::string_view key,
                                                      const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  if (key.empty()) return below_->Stat(key, deadline);
  const auto below = KeyBelow(key);
  if (!below) return std::nullopt;
  return below_->Stat(*below, deadline);
}

Result<ObjectStore::Opened> AllViewsStore::Open(std::string_view key, const RangeRequest& first,
                                                const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const auto below = KeyBelow(key);
  if (!below) return Opened{};
  return below_->Open(*below, first, deadline);
}

Result<ObjectStore::Opened> AllViewsStore::OpenUnlessKnown(std::string_view key,
                                                           const RangeRequest& first,
                                                           const ObjectInfo& known,
                                                           const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const auto below = KeyBelow(key);
  if (!below) return Opened{};
  return below_->OpenUnlessKnown(*below, first, known, deadline);
}

ObjectStore::Opened AllViewsStore::OpenCached(std::string_view key, const RangeRequest& first) {
  const auto below = KeyBelow(key);
  return below ? below_->OpenCached(*below, first) : Opened{};
}

std::shared_ptr<ObjectVersion> AllViewsStore::Recall(std::string_view key, const ObjectInfo& info) {
  const auto below = KeyBelow(key);
  return below ? below_->Recall(*below, info) : nullptr;
}

Status AllViewsStore::List(std::string_view key, const Deadline& deadline,
                           const ListVisitor& visitor) {
  return ListFrom(key, 0, deadline, visitor);
}

// In the root the cookie of an entry is its number.
Status AllViewsStore::ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                               const ListVisitor& visitor) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  if (!key.empty()) {
    const auto below = KeyBelow(key);
    return below ? below_->ListFrom(*below, resume, deadline, visitor) : Status();
  }
  std::uint64_t number = 0;
  for (const std::string& view : views()) {
    if (++number <= resume) continue;
    if (!visitor({view, ObjectInfo::Kind::kDirectory, number})) return {};
  }
  return {};
}

std::string AllViewsStore::Identity() const {
  const std::string below = below_->Identity();
  return below.empty() ? below : below + " by views";
}

std::string AllViewsStore::Describe(std::string_view key) const {
  const PathInView split = SplitView(key);
  return below_->Describe(split.path) +
         (split.view.empty() ? "" : " (view " + std::string(split.view) + ")");
}

ChangeWatcher::Listener ForEachView(const ChangeWatcher::Listener& listener) {
  if (!listener) return listener;
  return [listener](const ChangeWatcher::Event& event) {
    if (event.everything) return listener(event);
    for (const std::string_view view : AllViewNames()) {
      listener({JoinPath(std::string(view), event.key), false});
    }
  };
}

}  // namespace unshard
