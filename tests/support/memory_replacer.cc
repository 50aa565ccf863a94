#include "tests/support/memory_replacer.h"

#include <algorithm>

#include "store/object/concatenated_object.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

// The object as it is now, or its obsolete pair; null where there is neither.
Result<std::shared_ptr<ObjectVersion>> OpenNow(MemoryStore& store, const ReplacedObject& object) {
  const auto nothing = RangeRequest::At(0, 0);
  UNSHARD_ASSIGN_OR_RETURN(auto now, store.Open(object.key, nothing, Deadline::None()));
  if (!now.version && object.obsolete) {
    UNSHARD_ASSIGN_OR_RETURN(
        now, OpenConcatenated(store, object.obsolete->index, object.obsolete->data, nothing,
                              Deadline::None()));
  }
  return std::move(now.version);
}

class MemoryReplacement final : public ObjectReplacement {
 public:
  MemoryReplacement(std::shared_ptr<MemoryStore> store, const ReplacedObject& object,
                    bool starts_from_base, std::atomic<MemoryReplacer::Lost>& lost,
                    std::shared_ptr<std::atomic<std::uint64_t>> base_bytes,
                    std::shared_ptr<std::atomic<std::uint64_t>> puts, std::string attempt)
      : store_(std::move(store)),
        object_(object),
        starts_from_base_(starts_from_base),
        lost_(lost),
        base_bytes_(std::move(base_bytes)),
        puts_(std::move(puts)),
        attempt_(std::move(attempt)) {}

  Status OpenBase();

  const std::shared_ptr<ObjectVersion>& base() const override { return base_; }
  bool base_is_pair() const override { return is_pair_; }
  std::string attempt() const override { return attempt_; }
  Result<bool> StartFromBase() override;
  Status Write(std::uint64_t at, ByteSpan bytes) override;
  Status CopyBase(const ByteRange& range, std::uint64_t at) override;
  Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) override {
    const ByteRange part = ClipRange(RangeRequest::At(at, to.size()), bytes_.size());
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(part.begin), part.size, to.begin());
    return static_cast<std::size_t>(part.size);
  }
  Status SetSize(std::uint64_t size) override {
    bytes_.resize(static_cast<std::size_t>(size));
    return {};
  }
  Result<std::uint64_t> Size() override { return bytes_.size(); }
  Result<Committed> Commit(const Committing& committing) override;
  Result<Committed> Remove(const Committing& committing) override;
  Status MakeDurable() override;

 private:
  Result<Committed> Replace(std::optional<Bytes> bytes);

  const std::shared_ptr<MemoryStore> store_;
  const ReplacedObject object_;
  const bool starts_from_base_;
  std::atomic<MemoryReplacer::Lost>& lost_;
  const std::shared_ptr<std::atomic<std::uint64_t>> base_bytes_;
  const std::shared_ptr<std::atomic<std::uint64_t>> puts_;
  const std::string attempt_;
  std::shared_ptr<ObjectVersion> base_;
  bool is_pair_ = false;
  std::optional<Generation> current_;  // of what stands under the key itself, as far as we know
  ByteVector bytes_;
};

Status MemoryReplacement::OpenBase() {
  UNSHARD_ASSIGN_OR_RETURN(const auto base, OpenNow(*store_, object_));
  if (!base) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto whole, store_->Stat(object_.key, Deadline::None()));
  is_pair_ = !whole;
  if (!is_pair_) current_ = base->info().generation;
  const auto read = [store = store_, object = object_, base, bytes = base_bytes_](
                        std::uint64_t at, std::span<std::uint8_t> to) -> Result<std::size_t> {
    UNSHARD_ASSIGN_OR_RETURN(const auto now, OpenNow(*store, object));
    if (!now || now->info().generation != base->info().generation) return std::size_t{0};
    UNSHARD_ASSIGN_OR_RETURN(const ReadResult found,
                             base->Read(RangeRequest::At(at, to.size()), Deadline::None()));
    std::copy(found.value.span().begin(), found.value.span().end(), to.begin());
    *bytes += found.value.size();
    return found.value.size();
  };
  base_ = MakeObjectOf(base->info(), store_->Describe(object_.key), read);
  return {};
}

Result<bool> MemoryReplacement::StartFromBase() {
  if (!starts_from_base_ || !base_ || is_pair_) return false;
  UNSHARD_RETURN_IF_ERROR(CopyBase({0, base_->info().size}, 0));
  return true;
}

Status MemoryReplacement::Write(std::uint64_t at, ByteSpan bytes) {
  const auto end = static_cast<std::size_t>(at + bytes.size());
  if (bytes_.size() < end) bytes_.resize(end);
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

Status MemoryReplacement::CopyBase(const ByteRange& range, std::uint64_t at) {
  if (!base_ || !MakeByteRange(range.begin, range.size, base_->info().size)) {
    return Fail(ErrorCode::kDataLoss, store_->Describe(object_.key) + ": ends too early");
  }
  UNSHARD_ASSIGN_OR_RETURN(
      const ReadResult read,
      base_->Read(RangeRequest::At(range.begin, range.size), Deadline::None()));
  if (read.state == ReadResult::State::kFound) return Write(at, read.value.span());
  return Fail(ErrorCode::kConflict, store_->Describe(object_.key) + ": was replaced");
}

Result<Committed> MemoryReplacement::Replace(std::optional<Bytes> bytes) {
  using Lost = MemoryReplacer::Lost;
  const auto lost = lost_ == Lost::kDurability ? Lost::kNothing : lost_.exchange(Lost::kNothing);
  const Committed unknown{Committed::Outcome::kUnknown, {}, {ErrorCode::kUnavailable, "lost", 0}};
  if (lost == MemoryReplacer::Lost::kRequest) return unknown;
  Committed committed = store_->ReplaceIf(object_.key, current_, std::move(bytes), attempt_);
  if (committed.outcome == Committed::Outcome::kCommitted) ++*puts_;
  if (lost == MemoryReplacer::Lost::kAnswer) return unknown;
  if (committed.outcome != Committed::Outcome::kCommitted) return committed;
  is_pair_ = false;
  current_.reset();
  if (committed.object) current_ = committed.object->generation;
  return committed;
}

Result<Committed> MemoryReplacement::Commit(const Committing& committing) {
  UNSHARD_RETURN_IF_ERROR(committing());
  return Replace(Bytes(bytes_));
}

Result<Committed> MemoryReplacement::Remove(const Committing& committing) {
  UNSHARD_RETURN_IF_ERROR(committing());
  const auto now = store_->Stat(object_.key, Deadline::None());
  if (!now || !*now || (*now)->generation != current_) return Committed{};
  if (object_.obsolete) {
    store_->Remove(object_.obsolete->index);
    store_->Remove(object_.obsolete->data);
  }
  return Replace(std::nullopt);
}

Status MemoryReplacement::MakeDurable() {
  auto fails = MemoryReplacer::Lost::kDurability;
  if (lost_.compare_exchange_strong(fails, MemoryReplacer::Lost::kNothing)) {
    return Fail(ErrorCode::kUnavailable, store_->Describe(object_.key) + ": is not durable");
  }
  if (!current_ || !object_.obsolete) return {};
  store_->Remove(object_.obsolete->index);
  store_->Remove(object_.obsolete->data);
  return {};
}

}  // namespace

Status MemoryReplacer::CheckAnswers() const {
  if (!away_) return {};
  return Fail(ErrorCode::kUnavailable, store_->Describe("") + ": does not answer");
}

Result<std::vector<std::string>> MemoryReplacer::Attempts(const std::string& key) {
  UNSHARD_RETURN_IF_ERROR(CheckAnswers());
  ++looks_;
  return store_->Attempts(key);
}

Status MemoryReplacer::DropUpload(const std::string& key, const std::string& upload) {
  UNSHARD_RETURN_IF_ERROR(CheckAnswers());
  const std::lock_guard lock(mutex_);
  dropped_.push_back(key + ' ' + upload);
  return {};
}

std::vector<std::string> MemoryReplacer::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

Result<std::unique_ptr<ObjectReplacement>> MemoryReplacer::Begin(const ReplacedObject& object,
                                                                 const Deadline&) {
  UNSHARD_RETURN_IF_ERROR(CheckAnswers());
  auto replacement =
      std::make_unique<MemoryReplacement>(store_, object, starts_from_base_, lost_, base_bytes_,
                                          puts_, "attempt " + std::to_string(++last_attempt_));
  UNSHARD_RETURN_IF_ERROR(replacement->OpenBase());
  return replacement;
}

}  // namespace unshard
