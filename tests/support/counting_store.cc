#include "tests/support/counting_store.h"

namespace unshard {

void CountingStore::Tally::Note(const std::string& key, const ByteRange& range, bool sliced) {
  const std::lock_guard lock(mutex);
  AccessCounts& counts = by_key[key];
  ++(sliced ? counts.slices : counts.reads);
  counts.bytes += range.size;
  accesses.push_back({key, range, sliced});
}

void CountingStore::Tally::Add(std::string_view key, std::uint64_t AccessCounts::*counter) {
  const std::lock_guard lock(mutex);
  ++(by_key[std::string(key)].*counter);
}

class CountingStore::Handle final : public ObjectVersion {
 public:
  Handle(std::shared_ptr<ObjectVersion> below, std::string_view key, std::shared_ptr<Tally> tally)
      : below_(std::move(below)), key_(key), tally_(std::move(tally)) {}

  const ObjectInfo& info() const override { return below_->info(); }
  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    tally_->Note(key_, ClipRange(range, info().size), false);
    below_->StartRead(range, deadline, std::move(done));
  }
  std::optional<FileSlice> Slice(const ByteRange& range) override {
    auto slice = below_->Slice(range);
    if (slice) tally_->Note(key_, range, true);
    return slice;
  }
  void Prefetch(const ByteRange& range) override {
    tally_->Add(key_, &AccessCounts::prefetches);
    below_->Prefetch(range);
  }

 private:
  const std::shared_ptr<ObjectVersion> below_;
  const std::string key_;
  const std::shared_ptr<Tally> tally_;
};

CountingStore::CountingStore(std::shared_ptr<ObjectStore> below) : below_(std::move(below)) {}

AccessCounts CountingStore::total() const {
  const std::lock_guard lock(tally_->mutex);
  AccessCounts total;
  for (const auto& [key, counts] : tally_->by_key) {
    total.stats += counts.stats;
    total.opens += counts.opens;
    total.reads += counts.reads;
    total.slices += counts.slices;
    total.lists += counts.lists;
    total.prefetches += counts.prefetches;
    total.bytes += counts.bytes;
  }
  return total;
}

AccessCounts CountingStore::of(const std::string& key) const {
  const std::lock_guard lock(tally_->mutex);
  const auto found = tally_->by_key.find(key);
  return found == tally_->by_key.end() ? AccessCounts{} : found->second;
}

std::vector<Access> CountingStore::accesses() const {
  const std::lock_guard lock(tally_->mutex);
  return tally_->accesses;
}

void CountingStore::Reset() {
  const std::lock_guard lock(tally_->mutex);
  tally_->by_key.clear();
  tally_->accesses.clear();
}

Result<std::optional<ObjectInfo>> CountingStore::Stat(std::string_view key,
                                                      const Deadline& deadline) {
  tally_->Add(key, &AccessCounts::stats);
  auto found = below_->Stat(key, deadline);
  if (on_stat_) on_stat_(key);
  return found;
}

Result<ObjectStore::Opened> CountingStore::Open(std::string_view key, const RangeRequest& first,
                                                const Deadline& deadline) {
  tally_->Add(key, &AccessCounts::opens);
  if (on_open_) on_open_(key);
  UNSHARD_ASSIGN_OR_RETURN(Opened opened, below_->Open(key, first, deadline));
  if (on_opened_) on_opened_(key);
  if (opened.version) {
    opened.version = std::make_shared<Handle>(std::move(opened.version), key, tally_);
  }
  return opened;
}

std::shared_ptr<ObjectVersion> CountingStore::Recall(std::string_view key, const ObjectInfo& info) {
  auto version = below_->Recall(key, info);
  if (!version) return nullptr;
  return std::make_shared<Handle>(std::move(version), key, tally_);
}

Status CountingStore::List(std::string_view key, const Deadline& deadline,
                           const ListVisitor& visitor) {
  tally_->Add(key, &AccessCounts::lists);
  return below_->List(key, deadline, visitor);
}

}  // namespace unshard
