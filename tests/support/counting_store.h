// Counts the calls of a store, so that tests can assert how many of each kind an operation makes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/object/object_store.h"

namespace unshard {

struct AccessCounts {
  std::uint64_t stats = 0;
  std::uint64_t opens = 0;   // an open brings its first range along
  std::uint64_t reads = 0;   // that copy
  std::uint64_t slices = 0;  // that succeeded
  std::uint64_t lists = 0;
  std::uint64_t prefetches = 0;  // hints, no requests of their own
  std::uint64_t bytes = 0;       // read or sliced, without those that opens bring

  // How many requests a remote store would send for these calls.
  [[nodiscard]] std::uint64_t requests() const { return stats + opens + reads + slices + lists; }
};

// One read or slice, in the order of the calls.
struct Access {
  std::string key;
  ByteRange range;
  bool sliced = false;
};

// Thread-safe. Forwards everything to the store below.
class CountingStore final : public ObjectStore {
 public:
  explicit CountingStore(std::shared_ptr<ObjectStore> below);

  [[nodiscard]] AccessCounts total() const;
  [[nodiscard]] AccessCounts of(const std::string& key) const;
  // The reads so far, of chunks and of indexes alike: a test tells them apart by their ranges.
  [[nodiscard]] std::vector<Access> accesses() const;
  void Reset();
  // Called after each Stat, before its answer is given.
  void OnStat(std::function<void(std::string_view key)> hook) { on_stat_ = std::move(hook); }
  // Called before each Open.
  void OnOpen(std::function<void(std::string_view key)> hook) { on_open_ = std::move(hook); }
  // Called after each Open, before its answer is given.
  void OnOpened(std::function<void(std::string_view key)> hook) { on_opened_ = std::move(hook); }

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override;
  std::string Identity() const override { return below_->Identity(); }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  // Shared with the handles, which may outlive the store.
  struct Tally {
    std::mutex mutex;
    std::map<std::string, AccessCounts> by_key;
    std::vector<Access> accesses;
    void Note(const std::string& key, const ByteRange& range, bool sliced);
    void Add(std::string_view key, std::uint64_t AccessCounts::*counter);
  };
  class Handle;

  const std::shared_ptr<ObjectStore> below_;
  std::function<void(std::string_view)> on_stat_;
  std::function<void(std::string_view)> on_open_;
  std::function<void(std::string_view)> on_opened_;
  const std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
};

}  // namespace unshard
