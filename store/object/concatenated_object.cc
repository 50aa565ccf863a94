#include "store/object/concatenated_object.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "store/object/time_now.h"

namespace unshard {
namespace {

Bytes Joined(const Bytes& head, const Bytes& tail) {
  ByteVector both(head.span().begin(), head.span().end());
  both.insert(both.end(), tail.span().begin(), tail.span().end());
  return Bytes(std::move(both));
}

bool IsFound(const Result<ReadResult>& read) {
  return read && read->state == ReadResult::State::kFound;
}

// The answers to the two reads of a range across the seam, in any order.
class Halves {
 public:
  explicit Halves(ObjectVersion::ReadDone done) : done_(std::move(done)) {}

  void Take(std::size_t half, Result<ReadResult> read) {
    {
      const std::lock_guard lock(mutex_);
      answers_[half] = std::move(read);
      if (!answers_[0] || !answers_[1]) return;
    }
    auto& [head, tail] = answers_;
    if (!IsFound(*head)) return done_(*std::move(head));
    if (IsFound(*tail)) {
      (*tail)->value = Joined((*head)->value, (*tail)->value);
      (*tail)->age = std::max((*tail)->age, (*head)->age);
    }
    done_(*std::move(tail));
  }

 private:
  const ObjectVersion::ReadDone done_;
  std::mutex mutex_;
  std::array<std::optional<Result<ReadResult>>, 2> answers_;  // guarded by mutex_ until both came
};

class ConcatenatedObject final : public ObjectVersion {
 public:
  ConcatenatedObject(std::shared_ptr<ObjectVersion> first, std::shared_ptr<ObjectVersion> second,
                     std::uint64_t size)
      : first_(std::move(first)), second_(std::move(second)) {
    info_.size = size;
    info_.generation.tag = first_->info().generation.tag + '+' + second_->info().generation.tag;
    const timespec& first_modified = first_->info().modified;
    const timespec& second_modified = second_->info().modified;
    info_.modified = IsLater(second_modified, first_modified) ? second_modified : first_modified;
  }

  const ObjectInfo& info() const override { return info_; }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const ByteRange wanted = ClipRange(range, info_.size);
    const std::uint64_t seam = first_->info().size;
    const ReadDone as_whole = [info = info_, done = std::move(done)](Result<ReadResult> read) {
      if (read) {
        read->object_size = info.size;
        read->generation = info.generation;
      }
      done(std::move(read));
    };
    if (wanted.begin >= seam) {
      const auto part = RangeRequest::At(wanted.begin - seam, wanted.size);
      return second_->StartRead(part, deadline, as_whole);
    }
    if (wanted.end() <= seam) {
      const auto part = RangeRequest::At(wanted.begin, wanted.size);
      return first_->StartRead(part, deadline, as_whole);
    }
    // Both begin on this thread: an answer may come on a thread that must not wait for a disk.
    const auto halves = std::make_shared<Halves>(as_whole);
    first_->StartRead(RangeRequest::At(wanted.begin, seam - wanted.begin), deadline,
                      [halves](Result<ReadResult> head) { halves->Take(0, std::move(head)); });
    second_->StartRead(RangeRequest::At(0, wanted.end() - seam), deadline,
                       [halves](Result<ReadResult> tail) { halves->Take(1, std::move(tail)); });
  }

  std::optional<FileSlice> Slice(const ByteRange& range) override {
    if (!MakeByteRange(range.begin, range.size, info_.size)) return std::nullopt;
    const std::uint64_t seam = first_->info().size;
    if (range.end() <= seam) return first_->Slice(range);
    if (range.begin < seam) return std::nullopt;
    return second_->Slice({range.begin - seam, range.size});
  }

  void Prefetch(const ByteRange& range) override {
    const ByteRange wanted = ClipRange(RangeRequest::At(range.begin, range.size), info_.size);
    const std::uint64_t seam = first_->info().size;
    const std::uint64_t in_second = std::max(wanted.begin, seam);
    if (wanted.begin < seam) {
      first_->Prefetch({wanted.begin, std::min(wanted.end(), seam) - wanted.begin});
    }
    if (in_second < wanted.end()) {
      second_->Prefetch({in_second - seam, wanted.end() - in_second});
    }
  }

 private:
  const std::shared_ptr<ObjectVersion> first_;
  const std::shared_ptr<ObjectVersion> second_;
  ObjectInfo info_;
};

}  // namespace

Result<ObjectStore::Opened> OpenConcatenated(ObjectStore& store, std::string_view first_key,
                                             std::string_view second_key, const RangeRequest& first,
                                             const Deadline& deadline, MissingHalf missing_half) {
  UNSHARD_ASSIGN_OR_RETURN(ObjectStore::Opened head, store.Open(first_key, first, deadline));
  if (!head.version && missing_half == MissingHalf::kBelieved) return head;
  UNSHARD_ASSIGN_OR_RETURN(ObjectStore::Opened tail,
                           store.Open(second_key, RangeRequest::At(0, 0), deadline));
  if (!head.version && !tail.version) return head;
  if (!head.version || !tail.version) {
    return Fail(ErrorCode::kDataLoss, store.Describe(head.version ? second_key : first_key),
                ": missing, although the other half of the shard exists");
  }
  UNSHARD_ASSIGN_OR_RETURN(auto whole, Concatenate(std::move(head.version), std::move(tail.version),
                                                   store.Describe(second_key)));
  if (first.suffix || head.first.size() < first.size) {
    UNSHARD_ASSIGN_OR_RETURN(ReadResult read, whole->Read(first, deadline));
    if (read.state != ReadResult::State::kFound) {
      return Fail(ErrorCode::kConflict, store.Describe(first_key), ": changed while it was read");
    }
    head.first = std::move(read.value);
  }
  return ObjectStore::Opened{std::move(whole), std::move(head.first)};
}

Result<std::shared_ptr<ObjectVersion>> Concatenate(std::shared_ptr<ObjectVersion> first,
                                                   std::shared_ptr<ObjectVersion> second,
                                                   const std::string& described) {
  const auto size = CheckedAdd(first->info().size, second->info().size);
  if (!size) return Fail(ErrorCode::kDataLoss, described, ": too large");
  return std::make_shared<ConcatenatedObject>(std::move(first), std::move(second), *size);
}

}  // namespace unshard
