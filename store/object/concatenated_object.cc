#include "store/object/concatenated_object.h"

#include <algorithm>

namespace unshard {
namespace {

bool Earlier(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

class ConcatenatedObject final : public ObjectVersion {
 public:
  ConcatenatedObject(std::shared_ptr<ObjectVersion> first, std::shared_ptr<ObjectVersion> second,
                     std::uint64_t size)
      : first_(std::move(first)), second_(std::move(second)) {
    info_.size = size;
    info_.generation.tag = first_->info().generation.tag + '+' + second_->info().generation.tag;
    info_.modified = std::max(first_->info().modified, second_->info().modified, Earlier);
  }

  const ObjectInfo& info() const override { return info_; }

  Result<ReadResult> Read(const RangeRequest& range) override {
    const ByteRange wanted = ClipRange(range, info_.size);
    const std::uint64_t seam = first_->info().size;
    if (wanted.begin >= seam) return ReadPart(*second_, wanted.begin - seam, wanted.size);
    if (wanted.end() <= seam) return ReadPart(*first_, wanted.begin, wanted.size);
    UNSHARD_ASSIGN_OR_RETURN(ReadResult head, ReadPart(*first_, wanted.begin, seam - wanted.begin));
    if (head.state != ReadResult::State::kFound) return head;
    UNSHARD_ASSIGN_OR_RETURN(ReadResult tail, ReadPart(*second_, 0, wanted.end() - seam));
    if (tail.state != ReadResult::State::kFound) return tail;
    ByteVector both(head.value.span().begin(), head.value.span().end());
    both.insert(both.end(), tail.value.span().begin(), tail.value.span().end());
    tail.value = Bytes(std::move(both));
    return tail;
  }

  std::optional<FileSlice> Slice(const ByteRange& range) override {
    if (!MakeByteRange(range.begin, range.size, info_.size)) return std::nullopt;
    const std::uint64_t seam = first_->info().size;
    if (range.end() <= seam) return first_->Slice(range);
    if (range.begin < seam) return std::nullopt;
    return second_->Slice({range.begin - seam, range.size});
  }

 private:
  Result<ReadResult> ReadPart(ObjectVersion& part, std::uint64_t begin, std::uint64_t size) {
    UNSHARD_ASSIGN_OR_RETURN(ReadResult read, part.Read(RangeRequest::At(begin, size)));
    read.object_size = info_.size;
    read.generation = info_.generation;
    return read;
  }

  const std::shared_ptr<ObjectVersion> first_;
  const std::shared_ptr<ObjectVersion> second_;
  ObjectInfo info_;
};

}  // namespace

Result<std::shared_ptr<ObjectVersion>> OpenConcatenated(ObjectStore& store,
                                                        std::string_view first_key,
                                                        std::string_view second_key) {
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<ObjectVersion> first, store.Open(first_key));
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<ObjectVersion> second, store.Open(second_key));
  if (!first && !second) return nullptr;
  if (!first || !second) {
    return Fail(ErrorCode::kDataLoss,
                store.Describe(first ? second_key : first_key) +
                    ": missing, although the other half of the shard is there");
  }
  const auto size = CheckedAdd(first->info().size, second->info().size);
  if (!size) return Fail(ErrorCode::kDataLoss, store.Describe(second_key) + ": too large");
  return std::make_shared<ConcatenatedObject>(std::move(first), std::move(second), *size);
}

}  // namespace unshard
