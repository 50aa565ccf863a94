#include "store/shard/object.h"

#include <utility>

#include "store/object/read_through.h"

namespace unshard {

Result<Bytes> ShardObject::Read(const ByteRange& range) const {
  if (!MakeByteRange(range.begin, range.size, size())) {
    return Fail(ErrorCode::kDataLoss, described_, ": an index entry reaches beyond the end");
  }
  if (range.size == 0) return Bytes();
  UNSHARD_ASSIGN_OR_RETURN(
      ReadResult read, object_->Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
  if (read.state == ReadResult::State::kFound) return std::move(read.value);
  return Fail(ErrorCode::kConflict, described_, ": was replaced while it was read");
}

Result<ShardObject> ShardObject::Decoded(const ShardFormat& format, std::uint64_t max_bytes) const {
  if (!format.has_outer_codecs() || missing()) return *this;
  if (size() > max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, described_,
                ": is compressed as a whole and above the cap ", "of ", max_bytes, " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(Bytes stored, Read({0, size()}));
  auto decoded = format.DecodeShard(std::move(stored), max_bytes);
  if (!decoded) return Forward(std::move(decoded).error(), described_);
  ObjectInfo info;
  info.size = decoded->size();
  return ShardObject(described_, MakeObjectOf(info, *std::move(decoded)));
}

Result<ShardIndex> ShardObject::ReadIndex(const ShardFormat& format, std::uint64_t shard,
                                          std::uint64_t max_index_bytes) const {
  if (missing()) return ShardIndex();
  const auto read = [&](const ByteRange& range) { return Read(range); };
  IndexDriver driver(format, shard, {size(), read, [&] { return described_; }});
  return driver.AllPages(max_index_bytes);
}

}  // namespace unshard
