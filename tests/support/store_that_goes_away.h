// A store that stops answering, together with the versions that it has opened.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "store/object/object_store.h"

namespace unshard {

// Forwards everything to the store below as long as `away` is not set. Thread-safe.
class StoreThatGoesAway final : public ObjectStore,
                                public std::enable_shared_from_this<StoreThatGoesAway> {
 public:
  explicit StoreThatGoesAway(std::shared_ptr<ObjectStore> below) : below_(std::move(below)) {}

  std::atomic<bool> away = false;
  std::atomic<ErrorCode> failure = ErrorCode::kUnavailable;
  // Called before the answer of the store below is passed on. Not to be set while other threads
  // call the store.
  std::function<void()> before_answer = [] {};

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override {
    if (away) return Failure();
    auto found = below_->Stat(key, deadline);
    before_answer();
    return found;
  }
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override {
    if (away) return Failure();
    UNSHARD_ASSIGN_OR_RETURN(Opened opened, below_->Open(key, first, deadline));
    before_answer();
    return Opened{Wrapped(std::move(opened.version)), std::move(opened.first)};
  }
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    return Wrapped(below_->Recall(key, info));
  }
  std::string Identity() const override { return below_->Identity(); }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override {
    if (away) return Failure();
    return below_->List(key, deadline, visitor);
  }
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  class Version final : public ObjectVersion {
   public:
    Version(std::shared_ptr<ObjectVersion> below, std::shared_ptr<const StoreThatGoesAway> store)
        : below_(std::move(below)), store_(std::move(store)) {}
    const ObjectInfo& info() const override { return below_->info(); }
    void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
      if (store_->away) return done(store_->Failure());
      below_->StartRead(range, deadline, std::move(done));
    }

   private:
    const std::shared_ptr<ObjectVersion> below_;
    const std::shared_ptr<const StoreThatGoesAway> store_;
  };

  [[nodiscard]] tl::unexpected<Error> Failure() const { return Fail(failure, "nobody answers"); }
  std::shared_ptr<ObjectVersion> Wrapped(std::shared_ptr<ObjectVersion> version) const {
    if (!version) return nullptr;
    return std::make_shared<Version>(std::move(version), shared_from_this());
  }

  const std::shared_ptr<ObjectStore> below_;
};

}  // namespace unshard
