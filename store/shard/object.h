// A shard as bytes: one file, the two of the obsolete form, or decoded in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codec/shard/format.h"
#include "store/local/file_system.h"
#include "store/shard/index_driver.h"

namespace unshard {

// Used by one thread.
class ShardObject {
 public:
  // Without parts: a shard that is missing. `described` stands in messages.
  explicit ShardObject(std::string described) : described_(std::move(described)) {}
  // Adds the first `size` bytes of `file` at the end.
  void Add(std::shared_ptr<File> file, std::uint64_t size);

  [[nodiscard]] bool missing() const { return parts_.empty(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& described() const { return described_; }

  // kDataLoss where a file ends early.
  Result<ByteVector> Read(const ByteRange& range) const;
  Status CopyTo(File& to, const ByteRange& range, std::uint64_t offset) const;
  // The object that index ranges refer to; itself where the format is not wrapped.
  Result<ShardObject> Decoded(const ShardFormat& format, std::uint64_t max_bytes) const;
  // Walks to all pages, as IndexDriver::AllPages. An object that is missing has no chunks.
  Result<ShardIndex> ReadIndex(const ShardFormat& format, std::uint64_t shard,
                               std::uint64_t max_index_bytes) const;

 private:
  struct Part {
    std::shared_ptr<File> file;
    ByteRange range;  // of the whole object
  };
  template <class Visit>
  Status ForEachPart(const ByteRange& range, const Visit& visit) const;

  std::string described_;
  std::vector<Part> parts_;
  std::uint64_t size_ = 0;
};

}  // namespace unshard
