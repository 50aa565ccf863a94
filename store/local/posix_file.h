// One open file of this machine.
#pragma once

#include <cerrno>
#include <optional>
#include <string>

#include "store/local/file_descriptor.h"
#include "store/local/file_system.h"

namespace unshard {

// The attributes of an open file or directory; nothing, with errno, where they cannot be read.
std::optional<FileStatus> StatDescriptor(int descriptor);

// The same. `describe` gives its name for a message.
template <class Describe>
Result<FileStatus> StatDescriptor(int descriptor, const Describe& describe) {
  if (const auto status = StatDescriptor(descriptor)) return *status;
  return FailErrno(errno, describe() + ": reading its attributes");
}

class PosixFile final : public File {
 public:
  // `described` is the path that messages name. `at_open`: nothing where it was not read.
  PosixFile(FileDescriptor descriptor, std::string described,
            std::optional<FileStatus> at_open = std::nullopt)
      : descriptor_(std::move(descriptor)),
        described_(std::move(described)),
        at_open_(std::move(at_open)) {}

  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to) override;
  Status Write(std::uint64_t offset, ByteSpan bytes) override;
  Status Append(ByteSpan bytes) override;
  Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) override;
  Result<bool> CloneFrom(File& source) override;
  Status Truncate(std::uint64_t size) override;
  Status SetModified(const timespec& modified) override;
  Status SetMode(std::uint32_t mode) override;
  void DropPrivileges() override;
  Status TakeAttributesOf(File& source) override;
  Status Sync() override;
  void StartSync() override;
  Result<FileStatus> Stat() override;
  Result<FileStatus> StatusAtOpen() override { return at_open_ ? *at_open_ : Stat(); }
  Result<bool> Lock(bool wait) override;
  [[nodiscard]] int descriptor() const override { return descriptor_.get(); }

 private:
  // For calls that do not take a descriptor of O_PATH.
  [[nodiscard]] std::string PathInProc() const;
  Status CheckOffsets(std::uint64_t offset, std::uint64_t size) const;
  Result<std::uint64_t> CopyByKernel(const PosixFile& source, const ByteRange& range,
                                     std::uint64_t offset);
  Status CopyByBuffer(PosixFile& source, const ByteRange& range, std::uint64_t offset);

  const FileDescriptor descriptor_;
  const std::string described_;
  const std::optional<FileStatus> at_open_;
};

}  // namespace unshard
