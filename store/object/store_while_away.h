// What can still be said of objects while their store does not answer.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/object/key_filter.h"
#include "store/object/object_store.h"
#include "store/object/store_contact.h"

namespace unshard {

// Forwards everything to the store below. Where a request fails because that is away, Stat and Open
// answer from earlier answers: with the version that was seen last or that this process has put
// since, and with bytes that a disk cache below has. They fail for objects that were never asked
// for, and reads fail for bytes that are not cached. No version from before a replacement by this
// process is ever given: where the newer one has been forgotten, the request fails. While the store
// is away requests have a short deadline; each finds out anew whether it still is. Thread-safe.
class StoreWhileAway final : public ObjectStore {
 public:
  StoreWhileAway(std::shared_ptr<ObjectStore> below, std::shared_ptr<const StoreContact> contact);

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Opened OpenCached(std::string_view key, const RangeRequest& first) override;
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    return below_->Recall(key, info);
  }
  void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) override;
  std::string Identity() const override { return below_->Identity(); }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  Opened Watched(Opened opened) const;
  Opened OpenKnown(std::string_view key, const RangeRequest& first, const Deadline& deadline);
  // What is known of an object that was seen, or that this process has replaced.
  struct Known {
    std::optional<ObjectInfo> info;  // nothing: no version of it can be given
    std::uint64_t replaced = 0;      // which of this process's replacements was its last; 0: none
  };
  using AllKnown = std::unordered_map<std::string, Known>;

  // An answer to what was asked before a replacement may be of the version that was replaced: it is
  // not remembered. `asked`: the number of replacements when the request was sent.
  [[nodiscard]] std::uint64_t replacements();
  void RememberSeen(std::string_view key, const ObjectInfo& info, std::uint64_t asked);
  // The store has none.
  void RememberMissing(std::string_view key, std::uint64_t asked);
  void RememberLocked(const std::string& key, Known known);
  // Nothing where it is not known; no version where one from before may be all that is.
  [[nodiscard]] std::optional<Known> Find(std::string_view key);
  [[nodiscard]] Known* FindLocked(const std::string& key);

  const std::shared_ptr<ObjectStore> below_;
  const std::shared_ptr<const StoreContact> contact_;
  std::mutex mutex_;
  // All guarded by mutex_. Once `recent_` is full it becomes `older_`. What was in `older_` is
  // forgotten, except which objects this process has replaced.
  AllKnown recent_;
  AllKnown older_;
  KeyFilter forgotten_replaced_;
  std::uint64_t replacements_ = 0;
};

}  // namespace unshard
