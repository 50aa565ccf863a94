#include "store/shard/object.h"

#include <algorithm>
#include <new>

#include "store/local/memory_file.h"

namespace unshard {
void ShardObject::Add(std::shared_ptr<File> file, std::uint64_t size) {
  parts_.push_back({std::move(file), {size_, size}});
  size_ += size;
}

// Calls `visit` with the file, the range in it, and how far that is from the start of `range`.
template <class Visit>
Status ShardObject::ForEachPart(const ByteRange& range, const Visit& visit) const {
  if (!MakeByteRange(range.begin, range.size, size_)) {
    return Fail(ErrorCode::kDataLoss, described_ + ": an index entry reaches beyond the end");
  }
  for (const Part& part : parts_) {
    const std::uint64_t begin = std::max(range.begin, part.range.begin);
    const std::uint64_t end = std::min(range.end(), part.range.end());
    if (begin >= end) continue;
    UNSHARD_RETURN_IF_ERROR(
        visit(*part.file, ByteRange{begin - part.range.begin, end - begin}, begin - range.begin));
  }
  return {};
}

Result<ByteVector> ShardObject::Read(const ByteRange& range) const {
  ByteVector bytes;
  if (range.size > size_) {
    return Fail(ErrorCode::kDataLoss, described_ + ": an index entry reaches beyond the end");
  }
  try {
    bytes.resize(static_cast<std::size_t>(range.size));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted,
                described_ + ": no memory for " + std::to_string(range.size) + " bytes");
  }
  const auto read = [&](File& file, const ByteRange& part, std::uint64_t at) -> Status {
    const auto to =
        std::span(bytes).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(part.size));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, file.Read(part.begin, to));
    if (size == to.size()) return {};
    return Fail(ErrorCode::kDataLoss, described_ + ": became shorter while it was read");
  };
  UNSHARD_RETURN_IF_ERROR(ForEachPart(range, read));
  return bytes;
}

Status ShardObject::CopyTo(File& to, const ByteRange& range, std::uint64_t offset) const {
  return ForEachPart(range, [&](File& file, const ByteRange& part, std::uint64_t at) {
    return to.CopyFrom(file, part, offset + at);
  });
}

Result<ShardObject> ShardObject::Decoded(const ShardFormat& format, std::uint64_t max_bytes) const {
  if (!format.is_wrapped() || missing()) return *this;
  if (size_ > max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, described_ +
                                                   ": is compressed as a whole and above the cap " +
                                                   "of " + std::to_string(max_bytes) + " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(ByteVector stored, Read({0, size_}));
  auto decoded = format.DecodeShard(Bytes(std::move(stored)), max_bytes);
  if (!decoded) return Forward(std::move(decoded).error(), described_);
  auto file = std::make_shared<MemoryFile>(described_, max_bytes);
  UNSHARD_RETURN_IF_ERROR(file->Write(0, decoded->span()));
  ShardObject result(described_);
  result.Add(std::move(file), decoded->size());
  return result;
}

Result<ShardIndex> ShardObject::ReadIndex(const ShardFormat& format, std::uint64_t shard,
                                          std::uint64_t max_index_bytes) const {
  if (missing()) return ShardIndex();
  const auto read = [&](const ByteRange& range) -> Result<Bytes> {
    UNSHARD_ASSIGN_OR_RETURN(ByteVector bytes, Read(range));
    return Bytes(std::move(bytes));
  };
  IndexDriver driver(format, shard, {size_, read, [&] { return described_; }});
  return driver.AllPages(max_index_bytes);
}

}  // namespace unshard
