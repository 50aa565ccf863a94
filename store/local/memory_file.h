// A file in memory: a shard with outer codecs is assembled in it, and decoded to it.
#pragma once

#include <memory>
#include <string>

#include "store/local/file_system.h"

namespace unshard {

// Copies from files of any implementation. Used by one thread.
class MemoryFile final : public File {
 public:
  // `described`: for messages. Growing beyond `max_bytes` fails with kResourceExhausted.
  MemoryFile(std::string described, std::uint64_t max_bytes)
      : described_(std::move(described)), max_bytes_(max_bytes) {}

  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to) override;
  Status Write(std::uint64_t offset, ByteSpan bytes) override;
  Status Append(ByteSpan bytes) override;
  Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) override;
  Result<bool> CloneFrom(File& source) override;
  Status Truncate(std::uint64_t size) override;
  Status SetModified(const timespec&) override { return {}; }
  Status SetMode(std::uint32_t mode) override;
  Status TakeAttributesOf(File& source) override;
  Status Sync() override { return {}; }
  Result<FileStatus> Stat() override;
  Result<bool> Lock(bool wait) override;
  [[nodiscard]] int descriptor() const override { return -1; }

  // All bytes; the file is empty then.
  Bytes Take() { return Bytes(std::exchange(bytes_, {})); }

 private:
  const std::string described_;
  const std::uint64_t max_bytes_;
  ByteVector bytes_;
};

}  // namespace unshard
