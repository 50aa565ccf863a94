// A shard as bytes: one version of its object, or decoded in memory.
#pragma once

#include <memory>
#include <string>

#include "codec/shard/format.h"
#include "store/object/object_store.h"
#include "store/shard/index_driver.h"

namespace unshard {

// Used by one thread.
class ShardObject {
 public:
  // Null: a shard that is missing. Messages name `described`.
  ShardObject(std::string described, std::shared_ptr<ObjectVersion> object)
      : described_(std::move(described)), object_(std::move(object)) {}

  [[nodiscard]] bool missing() const { return !object_; }
  [[nodiscard]] std::uint64_t size() const { return object_ ? object_->info().size : 0; }
  [[nodiscard]] const std::string& described() const { return described_; }

  // kDataLoss where the range reaches beyond the end, kConflict where this version of the object is
  // no longer available.
  Result<Bytes> Read(const ByteRange& range) const;
  // The object that index ranges refer to; itself where the format has no outer codecs.
  Result<ShardObject> Decoded(const ShardFormat& format, std::uint64_t max_bytes) const;
  // Walks to all pages, as IndexDriver::AllPages. An object that is missing has no chunks.
  Result<ShardIndex> ReadIndex(const ShardFormat& format, std::uint64_t shard,
                               std::uint64_t max_index_bytes) const;

 private:
  std::string described_;
  std::shared_ptr<ObjectVersion> object_;
};

}  // namespace unshard
