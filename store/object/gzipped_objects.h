// Objects that local directories hold compressed, as "<key>.gz": CloudVolume writes chunk files of
// unsharded volumes so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/object/object_store.h"

namespace unshard {

// An object that is missing is the inflated "<key>.gz", if that is there. Listings have its name
// without the suffix. Thread-safe.
class GzippedObjects final : public ObjectStore {
 public:
  // Inflated objects of more than `max_bytes` are kResourceExhausted.
  GzippedObjects(std::shared_ptr<ObjectStore> below, std::uint64_t max_bytes)
      : below_(std::move(below)), max_bytes_(max_bytes) {}

  // Whether an object is there only as "<key>.gz".
  Result<bool> IsCompressed(std::string_view key, const Deadline& deadline);

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  const std::shared_ptr<ObjectStore> below_;
  const std::uint64_t max_bytes_;
};

// "a" of "a.gz"; other names as they are.
std::string_view WithoutGzipSuffix(std::string_view name);

}  // namespace unshard
