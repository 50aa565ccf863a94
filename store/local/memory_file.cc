#include "store/local/memory_file.h"

#include <algorithm>
#include <new>

namespace unshard {

Result<std::size_t> MemoryFile::Read(std::uint64_t offset, std::span<std::uint8_t> to) {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t size = std::min<std::uint64_t>(bytes_.size() - offset, to.size());
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size, to.begin());
  return size;
}

Status MemoryFile::Write(std::uint64_t offset, ByteSpan bytes) {
  const auto range = MakeByteRange(offset, bytes.size(), max_bytes_);
  if (!range || range->end() > bytes_.size()) {
    UNSHARD_RETURN_IF_ERROR(Truncate(range ? range->end() : ~std::uint64_t{0}));
  }
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Status MemoryFile::Append(ByteSpan bytes) { return Write(bytes_.size(), bytes); }

Status MemoryFile::CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) {
  const auto to = MakeByteRange(offset, range.size, max_bytes_);
  if (!to || to->end() > bytes_.size()) {
    UNSHARD_RETURN_IF_ERROR(Truncate(to ? to->end() : ~std::uint64_t{0}));
  }
  const auto into = std::span(bytes_).subspan(static_cast<std::size_t>(offset),
                                              static_cast<std::size_t>(range.size));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, source.Read(range.begin, into));
  if (size == into.size()) return {};
  return Fail(ErrorCode::kDataLoss, described_, ": expected ", range.size,
              " more bytes to copy, found ", size);
}

Result<bool> MemoryFile::CloneFrom(File&) { return false; }

Status MemoryFile::Truncate(std::uint64_t size) {
  if (size <= max_bytes_) {
    try {
      bytes_.resize(static_cast<std::size_t>(size));
      return {};
    } catch (const std::bad_alloc&) {
    }
  }
  return Fail(ErrorCode::kResourceExhausted, described_,
              ": has to be assembled in memory, and exceeds the cap of ", max_bytes_, " bytes");
}

Status MemoryFile::SetMode(std::uint32_t) { return {}; }

Status MemoryFile::TakeAttributesOf(File&) { return {}; }

Result<FileStatus> MemoryFile::Stat() {
  FileStatus status;
  status.size = bytes_.size();
  return status;
}

Result<bool> MemoryFile::Lock(bool) { return true; }

}  // namespace unshard
