// Objects of which a store has a compressed form beside them, "<key>.gz", ".br", ".zstd", ".xz" or
// ".bz2": CloudVolume writes the chunk files of unsharded volumes so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/object/object_store.h"

namespace unshard {

// An object that is missing is the decoded one of the first suffix (kCompressionSuffixes) that the
// store has. Listings have its name without the suffix. A suffix whose codec this build lacks is
// kNotSupported. Thread-safe.
class SuffixStore final : public ObjectStore {
 public:
  // Decoded objects of more than `max_bytes` are kResourceExhausted.
  SuffixStore(std::shared_ptr<ObjectStore> below, std::uint64_t max_bytes)
      : below_(std::move(below)), max_bytes_(max_bytes) {}

  // The suffix under which an object is stored; "" where it has none, or is missing.
  Result<std::string_view> SuffixOf(std::string_view key, const Deadline& deadline);

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                 const ObjectInfo& known, const Deadline& deadline) override;
  Opened OpenCached(std::string_view key, const RangeRequest& first) override {
    return below_->OpenCached(key, first);
  }
  // An object's info does not say with which suffix it is stored.
  std::shared_ptr<ObjectVersion> Recall(std::string_view, const ObjectInfo&) override {
    return nullptr;
  }
  void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) override;
  // What is kept by key would have bytes that the store does not have under it.
  std::string Identity() const override { return {}; }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  Result<Opened> OpenCompressed(std::string_view key, const RangeRequest& first,
                                const Deadline& deadline);

  const std::shared_ptr<ObjectStore> below_;
  const std::uint64_t max_bytes_;
  // The position in kCompressionSuffixes that was found last, which is looked for first.
  std::atomic<std::size_t> latest_{0};
};

}  // namespace unshard
