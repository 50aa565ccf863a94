// The source once below a directory for each view: what `view=all` mounts.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "store/object/change_watcher.h"
#include "store/object/object_store.h"

namespace unshard {

inline constexpr std::string_view kAllViews = "all";

// The first component of a path, which names a view, and what is below it.
struct PathInView {
  std::string_view view;
  std::string_view path;
};
PathInView SplitView(std::string_view path);

// "NAME/key" is the object `key` of the store below. Thread-safe.
class AllViewsStore final : public ObjectStore {
 public:
  // With all views of the table.
  explicit AllViewsStore(std::shared_ptr<ObjectStore> below);

  // The directory of a view is missing from now on.
  void Hide(std::string_view view);
  // Those that are there.
  [[nodiscard]] std::set<std::string, std::less<>> views() const;

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                 const ObjectInfo& known, const Deadline& deadline) override;
  Opened OpenCached(std::string_view key, const RangeRequest& first) override;
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override;
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) override {
    below_->Replaced(SplitView(key).path, now);
  }
  // Other keys than those of the store below.
  std::string Identity() const override;
  std::string Describe(std::string_view key) const override;

 private:
  // The key in the store below; nothing where there is no such view.
  [[nodiscard]] std::optional<std::string> KeyBelow(std::string_view key) const;

  const std::shared_ptr<ObjectStore> below_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> views_;  // guarded by mutex_
};

// Watches directories of such a store. Its events are those of the store below: see ForEachView.
class AllViewsWatcher final : public ChangeWatcher {
 public:
  explicit AllViewsWatcher(std::shared_ptr<ChangeWatcher> below) : below_(std::move(below)) {}
  bool Watch(std::string_view directory_key) override {
    return below_->Watch(SplitView(directory_key).path);
  }

 private:
  const std::shared_ptr<ChangeWatcher> below_;
};

// A change of the store below is one in each view.
ChangeWatcher::Listener ForEachView(const ChangeWatcher::Listener& listener);

}  // namespace unshard
