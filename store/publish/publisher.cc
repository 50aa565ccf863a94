#include "store/publish/publisher.h"

#include <algorithm>

#include "store/local/memory_file.h"
#include "store/object/read_through.h"
#include "store/publish/can_publish.h"
#include "store/publish/jitter.h"
#include "store/publish/plan.h"
#include "store/publish/putter.h"

namespace unshard {
namespace {

// Another writer replaced the shard each time.
constexpr int kAttempts = 8;

Status CheckRequest(const PublishRequest& request, const PublisherOptions& options,
                    const std::string& described) {
  auto status =
      CanPublishFormat(*request.format, {options.max_index_bytes, options.max_whole_shard_bytes});
  if (status) return {};
  return Forward(std::move(status).error(), described);
}

std::shared_ptr<const IndexPage> PageOf(const ShardIndex& index) {
  std::vector<IndexEntry> entries;
  entries.reserve(index.chunks.size());
  for (const StoredChunk& chunk : index.chunks) entries.push_back({chunk.slot, chunk.range});
  return std::make_shared<const IndexPage>(std::move(entries));
}

// The decoded form of a shard with outer codecs: assembled in memory, from a base in memory.
class DecodedVersion final : public NewVersion {
 public:
  DecodedVersion(const ShardObject& base, std::uint64_t max_bytes)
      : base_(base), file_(base.described(), max_bytes) {}
  Status Write(std::uint64_t at, ByteSpan bytes) override { return file_.Write(at, bytes); }
  Status CopyBase(const ByteRange& range, std::uint64_t at) override {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, base_.Read(range));
    return file_.Write(at, bytes.span());
  }
  Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) override {
    return file_.Read(at, to);
  }
  Status SetSize(std::uint64_t size) override { return file_.Truncate(size); }
  Result<std::uint64_t> Size() override {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file_.Stat());
    return status.size;
  }
  Bytes Take() { return file_.Take(); }

 private:
  const ShardObject& base_;
  MemoryFile file_;
};

// Steps 2 to 6, once.
class Attempt {
 public:
  Attempt(const PublisherOptions& options, const PublishRequest& request, std::string described,
          bool removes, std::unique_ptr<ObjectReplacement> replacement)
      : options_(options),
        request_(request),
        removes_(removes),
        replacement_(std::move(replacement)),
        base_(std::move(described), replacement_->base()) {
    if (!base_.missing()) base_generation_ = replacement_->base()->info().generation;
  }

  // Nothing where the base was replaced meanwhile.
  Result<std::optional<PublishResult>> Run();

 private:
  Status Prepare();
  Result<ShardPlan> Plan();
  Result<PutShard> Put(const ShardPlan& plan);
  [[nodiscard]] bool LittleGarbage(std::uint64_t size, std::uint64_t live) const;
  Result<std::optional<PutShard>> PutAppended(const ShardPlan& plan);
  Result<PutShard> PutEncodedShard(const ShardPlan& plan);
  // Reads the index of the new version back. kInternal where it is not that of what was put.
  Result<ShardIndex> Verify(const PutShard& put);
  using End = Result<Committed> (ObjectReplacement::*)(const ObjectReplacement::Committing&);
  Result<bool> EndBy(End end);

  const PublisherOptions& options_;
  const PublishRequest& request_;
  const bool removes_;  // the store removes shards that have no chunk
  const std::unique_ptr<ObjectReplacement> replacement_;
  const ShardObject base_;
  std::optional<Generation> base_generation_;  // of what the next commit replaces
  std::optional<ShardObject> body_;            // of the base: what its index refers to
  std::uint64_t base_index_bytes_ = 0;
  std::shared_ptr<const IndexPage> page_;  // of the new version, where it has one
  bool put_ = false;                       // a new version is to be committed
  bool remove_ = false;                    // after that the object is to be removed
  PublishResult result_;
};

Result<std::optional<PublishResult>> Attempt::Run() {
  const Status prepared = Prepare();
  if (!prepared && prepared.error().code == ErrorCode::kConflict) return std::nullopt;
  UNSHARD_RETURN_IF_ERROR(prepared);
  if (result_.unchanged) {
    UNSHARD_RETURN_IF_ERROR(replacement_->MakeDurable());
    return result_;
  }
  if (put_) {
    UNSHARD_ASSIGN_OR_RETURN(const bool committed, EndBy(&ObjectReplacement::Commit));
    if (!committed) return std::nullopt;
  }
  if (remove_) {
    UNSHARD_ASSIGN_OR_RETURN(const bool removed, EndBy(&ObjectReplacement::Remove));
    if (!removed) return std::nullopt;
  }
  return result_;
}

// Steps 2 to 4. Fails with kConflict where bytes of the base are no longer to be had.
Status Attempt::Prepare() {
  UNSHARD_ASSIGN_OR_RETURN(const ShardPlan plan, Plan());
  result_.conflicting = plan.conflicting;
  result_.refused = plan.refused;
  result_.chunks = plan.chunks.size();
  remove_ = removes_ && plan.chunks.empty() && !base_.missing();
  result_.unchanged = plan.changed_pages.empty() && !remove_;
  result_.object_size = base_.size();
  // A pair cannot be removed at once: an empty shard takes its place before.
  put_ = !result_.unchanged && (!remove_ || replacement_->base_is_pair());
  if (!put_) return {};
  UNSHARD_ASSIGN_OR_RETURN(const PutShard put, Put(plan));
  result_.bytes_written += put.bytes_written;
  return {};
}

Result<ShardPlan> Attempt::Plan() {
  const auto read = [&]() -> Result<ShardIndex> {
    UNSHARD_ASSIGN_OR_RETURN(body_,
                             base_.Decoded(*request_.format, options_.max_whole_shard_bytes));
    return body_->ReadIndex(*request_.format, request_.shard, options_.max_index_bytes);
  };
  auto index = read();
  if (!index && index.error().code == ErrorCode::kDataLoss) {
    return Forward(
        std::move(index).error(),
        "the shard cannot be rewritten without losing its other chunks; repair it or move it away");
  }
  if (!index) return tl::unexpected<Error>(std::move(index).error());
  base_index_bytes_ = index->bytes;
  return PlanShard(request_, *body_, base_generation_, *index, options_);
}

Result<PutShard> Attempt::Put(const ShardPlan& plan) {
  if (request_.format->has_outer_codecs()) return PutEncodedShard(plan);
  UNSHARD_ASSIGN_OR_RETURN(auto appended, PutAppended(plan));
  if (appended) return *std::move(appended);
  ShardPutter putter(request_, options_, *body_, plan, *replacement_);
  UNSHARD_ASSIGN_OR_RETURN(PutShard put, putter.PutWhole());
  UNSHARD_RETURN_IF_ERROR(Verify(put));
  return put;
}

// Dead is what neither a chunk nor an index takes.
bool Attempt::LittleGarbage(std::uint64_t size, std::uint64_t live) const {
  const std::uint64_t percent = std::min(options_.garbage_percent, 100U);
  return size - std::min(size, live) <= size / 100 * percent + size % 100 * percent / 100;
}

// Nothing, and the new version empty, where appending is impossible or leaves too much garbage.
// That is estimated before, because cloning for nothing takes time, and known only afterwards.
Result<std::optional<PutShard>> Attempt::PutAppended(const ShardPlan& plan) {
  if (base_.missing() || plan.chunks.empty()) return std::nullopt;
  const std::uint64_t added = plan.new_bytes + request_.format->fixed_index_bytes();
  if (!LittleGarbage(body_->size() + added, plan.kept_bytes + base_index_bytes_ + added)) {
    return std::nullopt;
  }
  UNSHARD_ASSIGN_OR_RETURN(const bool started, replacement_->StartFromBase());
  if (!started) return std::nullopt;
  ShardPutter putter(request_, options_, *body_, plan, *replacement_);
  UNSHARD_ASSIGN_OR_RETURN(auto put, putter.PutAppended());
  if (put) {
    UNSHARD_ASSIGN_OR_RETURN(const ShardIndex index, Verify(*put));
    if (LittleGarbage(put->size, put->chunk_bytes + index.bytes)) {
      result_.appended = true;
      return put;
    }
    result_.bytes_written += put->bytes_written;  // for nothing
  }
  UNSHARD_RETURN_IF_ERROR(replacement_->SetSize(0));
  return std::nullopt;
}

Result<PutShard> Attempt::PutEncodedShard(const ShardPlan& plan) {
  DecodedVersion body(*body_, options_.max_whole_shard_bytes);
  ShardPutter putter(request_, options_, *body_, plan, body);
  UNSHARD_ASSIGN_OR_RETURN(PutShard put, putter.PutWhole());
  auto encoded = request_.format->EncodeShard(body.Take(), options_.max_whole_shard_bytes);
  if (!encoded) return Forward(std::move(encoded).error(), base_.described());
  UNSHARD_RETURN_IF_ERROR(replacement_->Write(0, encoded->span()));
  put.size = put.bytes_written = encoded->size();
  UNSHARD_RETURN_IF_ERROR(Verify(put));
  return put;
}

Result<ShardIndex> Attempt::Verify(const PutShard& put) {
  const std::string described = base_.described() + ": its new version";
  ObjectInfo info;
  UNSHARD_ASSIGN_OR_RETURN(info.size, replacement_->Size());
  const ShardObject object(
      described,
      MakeObjectOf(info, described, [this](std::uint64_t at, std::span<std::uint8_t> to) {
        return replacement_->ReadBack(at, to);
      }));
  UNSHARD_ASSIGN_OR_RETURN(const ShardObject body,
                           object.Decoded(*request_.format, options_.max_whole_shard_bytes));
  UNSHARD_ASSIGN_OR_RETURN(
      ShardIndex index, body.ReadIndex(*request_.format, request_.shard, options_.max_index_bytes));
  if (info.size != put.size || index.chunks != put.chunks) {
    return Fail(ErrorCode::kInternal, described, " differs from what was written");
  }
  if (request_.format->page_count() == 1 && !request_.format->has_outer_codecs())
    page_ = PageOf(index);
  return index;
}

// Steps 5 and 6, for a commit or a removal. False where the base was replaced.
Result<bool> Attempt::EndBy(End end) {
  bool announced = false;
  const auto ended = (*replacement_.*end)([&]() -> Status {
    announced = true;
    return request_.committing ? request_.committing(replacement_->attempt()) : Status();
  });
  const bool nothing_happened = !ended || ended->outcome == Committed::Outcome::kConditionFailed;
  ShardSet::OwnPublish own{base_generation_, std::nullopt, nullptr};
  own.certain = ended && ended->outcome != Committed::Outcome::kUnknown;
  if (ended && ended->object) {
    own.published = ended->object->generation;
    own.page = page_;
  }
  if (announced && request_.committed) request_.committed(nothing_happened ? nullptr : &own);
  UNSHARD_RETURN_IF_ERROR(ended);
  if (nothing_happened) return false;
  if (ended->outcome == Committed::Outcome::kUnknown) {
    return Forward(ended->reason, base_.described() + ": it is not known whether it was replaced");
  }
  base_generation_ = own.published;
  result_.object_size = ended->object ? ended->object->size : 0;
  UNSHARD_RETURN_IF_ERROR(replacement_->MakeDurable());
  return true;
}

}  // namespace

ShardPublisher::ShardPublisher(std::shared_ptr<ObjectReplacer> store,
                               const PublisherOptions& options)
    : store_(std::move(store)), options_(options) {}

Result<PublishResult> ShardPublisher::Publish(const PublishRequest& request) {
  const std::string described = store_->Describe(request.object.key);
  UNSHARD_RETURN_IF_ERROR(CheckRequest(request, options_, described));
  Deadline deadline;
  deadline.stop = ending_.get_token();
  for (int i = 0; i < kAttempts; ++i) {
    if (i > 0) WaitWithJitter(i, options_.first_pause, deadline);
    UNSHARD_ASSIGN_OR_RETURN(auto replacement, store_->Begin(request.object, deadline));  // 1
    UNSHARD_ASSIGN_OR_RETURN(
        auto result,
        Attempt(options_, request, described, store_->removes_atomically(), std::move(replacement))
            .Run());
    if (result) return *std::move(result);
  }
  return Fail(ErrorCode::kConflict, described, ": other writers keep replacing it");
}

}  // namespace unshard
