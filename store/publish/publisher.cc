#include "store/publish/publisher.h"

#include <algorithm>

#include "store/local/file_object.h"
#include "store/local/memory_file.h"
#include "store/local/shard_lock.h"
#include "store/object/key.h"
#include "store/publish/base_shard.h"
#include "store/publish/can_publish.h"
#include "store/publish/plan.h"
#include "store/publish/putter.h"

namespace unshard {
namespace {

// Somebody who writes past the lock replaced the shard each time.
constexpr int kAttempts = 8;

Status CheckRequest(const FileSystem& files, const PublishRequest& request,
                    const PublisherOptions& options) {
  auto status =
      CanPublishFormat(*request.format, {options.max_index_bytes, options.max_wrapped_bytes});
  if (status) return {};
  return Forward(std::move(status).error(), files.Describe(request.key));
}

// Steps 2 to 8, once.
class Attempt {
 public:
  Attempt(FileSystem& files, const PublisherOptions& options, const PublishRequest& request,
          ShardLock lock)
      : files_(files), options_(options), request_(request), lock_(std::move(lock)) {}
  ~Attempt() { lock_.Remove(files_); }  // 8
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Nothing where the base was replaced meanwhile.
  Result<std::optional<PublishResult>> Run();

 private:
  Result<ShardPlan> Plan();
  Status LeaveUnchanged();
  Result<PutShard> Put(const ShardPlan& plan);
  [[nodiscard]] bool LittleGarbage(std::uint64_t size, std::uint64_t live) const;
  Result<std::optional<PutShard>> PutAppended(const ShardPlan& plan);
  Result<PutShard> PutWrapped(const ShardPlan& plan);
  // The index of what was put, once it is found to say that.
  Result<ShardIndex> Verify(const PutShard& put);
  Result<bool> Replace();
  Result<bool> RenameOver();
  Result<bool> RemoveShard();
  Status RemovePair();
  void Tell(const std::optional<Generation>& published);
  [[nodiscard]] std::string Described() const { return files_.Describe(request_.key); }

  FileSystem& files_;
  const PublisherOptions& options_;
  const PublishRequest& request_;
  ShardLock lock_;
  bool renamed_ = false;
  std::optional<BaseShard> base_;
  std::optional<ShardObject> body_;  // of the base: what its index refers to
  std::uint64_t base_index_bytes_ = 0;
  PublishResult result_;
};

Result<std::optional<PublishResult>> Attempt::Run() {
  UNSHARD_ASSIGN_OR_RETURN(const ShardPlan plan, Plan());  // 2
  result_.conflicting = plan.conflicting;
  result_.conflicts = plan.conflicting.size();
  result_.chunks = plan.chunks.size();
  const bool empty_shard = plan.chunks.empty() && !base_->missing();
  if (plan.changed_pages.empty() && !empty_shard) {
    UNSHARD_RETURN_IF_ERROR(LeaveUnchanged());
    return result_;
  }
  // A pair cannot be removed at once: an empty shard takes its place before.
  const bool remove = plan.chunks.empty();
  if (!remove || base_->is_pair()) {
    UNSHARD_ASSIGN_OR_RETURN(const PutShard put, Put(plan));  // 3, 4
    result_.bytes_written += put.bytes_written;
    UNSHARD_RETURN_IF_ERROR(lock_.version()->Sync());  // 5
    UNSHARD_ASSIGN_OR_RETURN(const bool replaced, Replace());
    if (!replaced) return std::nullopt;
  }
  if (remove) {
    UNSHARD_ASSIGN_OR_RETURN(const bool removed, RemoveShard());
    if (!removed) return std::nullopt;
  }
  return result_;
}

// What stands there may be what a publish left that could not sync the directory any more.
Status Attempt::LeaveUnchanged() {
  result_.unchanged = true;
  result_.object_size = base_->object().size();
  if (!base_->missing() && !base_->is_pair()) UNSHARD_RETURN_IF_ERROR(RemovePair());
  return files_.SyncDirectory(ParentPath(request_.key));
}

Result<ShardPlan> Attempt::Plan() {
  UNSHARD_ASSIGN_OR_RETURN(base_, BaseShard::Open(files_, request_));
  const auto read = [&]() -> Result<ShardIndex> {
    UNSHARD_ASSIGN_OR_RETURN(body_,
                             base_->object().Decoded(*request_.format, options_.max_wrapped_bytes));
    return body_->ReadIndex(*request_.format, request_.shard, options_.max_index_bytes);
  };
  auto index = read();
  if (!index && index.error().code == ErrorCode::kDataLoss) {
    return Forward(std::move(index).error(),
                   "the shard cannot be published onto, since its other chunks would be lost; "
                   "repair it or move it away");
  }
  if (!index) return tl::unexpected<Error>(std::move(index).error());
  base_index_bytes_ = index->bytes;
  return PlanShard(request_, *body_, *index, options_);
}

Result<PutShard> Attempt::Put(const ShardPlan& plan) {
  // Before there are bytes in it: whoever may not read the shard may not read them either.
  if (!base_->missing()) {
    UNSHARD_RETURN_IF_ERROR(lock_.version()->TakeAttributesOf(*base_->file()));
  }
  if (request_.format->is_wrapped()) return PutWrapped(plan);
  UNSHARD_ASSIGN_OR_RETURN(auto appended, PutAppended(plan));
  if (appended) return *std::move(appended);
  ShardPutter putter(request_, options_, *body_, plan, *lock_.version());
  UNSHARD_ASSIGN_OR_RETURN(PutShard put, putter.PutWhole());
  UNSHARD_RETURN_IF_ERROR(Verify(put));
  return put;
}

// Dead is what neither a chunk nor an index takes.
bool Attempt::LittleGarbage(std::uint64_t size, std::uint64_t live) const {
  const std::uint64_t percent = std::min(options_.garbage_percent, 100U);
  return size - std::min(size, live) <= size / 100 * percent + size % 100 * percent / 100;
}

// Nothing, and the new file empty, where appending is impossible or leaves too much garbage. That
// is estimated before, because cloning for nothing takes time, and known only afterwards.
Result<std::optional<PutShard>> Attempt::PutAppended(const ShardPlan& plan) {
  if (base_->missing() || base_->is_pair() || plan.chunks.empty()) return std::nullopt;
  const std::uint64_t added = plan.new_bytes + request_.format->fixed_index_bytes();
  if (!LittleGarbage(body_->size() + added, plan.kept_bytes + base_index_bytes_ + added)) {
    return std::nullopt;
  }
  UNSHARD_ASSIGN_OR_RETURN(const bool cloned, lock_.version()->CloneFrom(*base_->file()));
  if (!cloned) return std::nullopt;
  ShardPutter putter(request_, options_, *body_, plan, *lock_.version());
  UNSHARD_ASSIGN_OR_RETURN(auto put, putter.PutAppended());
  if (put) {
    UNSHARD_ASSIGN_OR_RETURN(const ShardIndex index, Verify(*put));
    if (LittleGarbage(put->size, put->chunk_bytes + index.bytes)) {
      result_.appended = true;
      return put;
    }
    result_.bytes_written += put->bytes_written;  // for nothing
  }
  UNSHARD_RETURN_IF_ERROR(lock_.version()->Truncate(0));
  return std::nullopt;
}

Result<PutShard> Attempt::PutWrapped(const ShardPlan& plan) {
  MemoryFile body(Described(), options_.max_wrapped_bytes);
  ShardPutter putter(request_, options_, *body_, plan, body);
  UNSHARD_ASSIGN_OR_RETURN(PutShard put, putter.PutWhole());
  auto encoded = request_.format->EncodeShard(body.Take(), options_.max_wrapped_bytes);
  if (!encoded) return Forward(std::move(encoded).error(), Described());
  UNSHARD_RETURN_IF_ERROR(lock_.version()->Write(0, encoded->span()));
  put.size = put.bytes_written = encoded->size();
  UNSHARD_RETURN_IF_ERROR(Verify(put));
  return put;
}

Result<ShardIndex> Attempt::Verify(const PutShard& put) {
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, lock_.version()->Stat());
  ShardObject object(files_.Describe(lock_.version_path()));
  object.Add(lock_.version(), status.size);
  UNSHARD_ASSIGN_OR_RETURN(const ShardObject body,
                           object.Decoded(*request_.format, options_.max_wrapped_bytes));
  UNSHARD_ASSIGN_OR_RETURN(
      ShardIndex index, body.ReadIndex(*request_.format, request_.shard, options_.max_index_bytes));
  if (status.size == put.size && index.chunks == put.chunks) return index;
  return Fail(ErrorCode::kInternal,
              object.described() + ": the new version does not hold what was put into it");
}

void Attempt::Tell(const std::optional<Generation>& published) {
  const ShardSet::OwnPublish own{base_->generation(), published};
  if (request_.after_rename) request_.after_rename(&own);
}

// Steps 5 (the second half) to 7.
Result<bool> Attempt::Replace() {
  const auto renamed = RenameOver();
  if (!renamed || !*renamed) {
    if (request_.after_rename) request_.after_rename(nullptr);
    return renamed;
  }
  if (auto status = lock_.version()->Stat()) {
    result_.status = *status;
    result_.object_size = status->size;
    Tell(FileVersion::Of(*status).generation());
  } else {
    Tell(std::nullopt);  // whatever stands there will be found to be something else
    return tl::unexpected<Error>(std::move(status).error());
  }
  UNSHARD_RETURN_IF_ERROR(files_.SyncDirectory(ParentPath(request_.key)));
  UNSHARD_RETURN_IF_ERROR(RemovePair());
  return true;
}

Result<bool> Attempt::RenameOver() {
  if (request_.before_rename) UNSHARD_RETURN_IF_ERROR(request_.before_rename());
  UNSHARD_ASSIGN_OR_RETURN(const bool there, base_->StillThere(files_));
  if (!there) return false;
  UNSHARD_RETURN_IF_ERROR(files_.Rename(lock_.version_path(), request_.key));
  renamed_ = true;
  return true;
}

Result<bool> Attempt::RemoveShard() {
  if (renamed_) {  // the empty shard that took the place of a pair, which is gone
    UNSHARD_ASSIGN_OR_RETURN(base_, BaseShard::Open(files_, request_));
  }
  const auto remove = [&]() -> Result<bool> {
    if (request_.before_rename) UNSHARD_RETURN_IF_ERROR(request_.before_rename());
    UNSHARD_ASSIGN_OR_RETURN(const bool there, base_->StillThere(files_));
    if (!there) return false;
    UNSHARD_RETURN_IF_ERROR(RemovePair());
    return files_.Remove(request_.key);
  };
  const auto removed = remove();
  if (!removed || !*removed) {
    if (request_.after_rename) request_.after_rename(nullptr);
    return removed;
  }
  result_.object_size = 0;
  result_.status = {};
  Tell(std::nullopt);
  UNSHARD_RETURN_IF_ERROR(files_.SyncDirectory(ParentPath(request_.key)));
  return true;
}

Status Attempt::RemovePair() {
  if (!request_.obsolete) return {};
  UNSHARD_ASSIGN_OR_RETURN(const bool index, files_.Remove(request_.obsolete->index));
  UNSHARD_ASSIGN_OR_RETURN(const bool data, files_.Remove(request_.obsolete->data));
  if (!index && !data) return {};
  return files_.SyncDirectory(ParentPath(request_.key));
}

}  // namespace

ShardPublisher::ShardPublisher(std::shared_ptr<FileSystem> store, const PublisherOptions& options)
    : store_(std::move(store)), options_(options) {}

Result<PublishResult> ShardPublisher::Publish(const PublishRequest& request) {
  UNSHARD_RETURN_IF_ERROR(CheckRequest(*store_, request, options_));
  LockPatience patience = options_.lock_patience;
  patience.ending = &ending_;
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(ShardLock lock,
                             ShardLock::Acquire(*store_, request.key, patience));  // 1
    Attempt attempt(*store_, options_, request, std::move(lock));
    UNSHARD_ASSIGN_OR_RETURN(auto result, attempt.Run());
    if (result) return *std::move(result);
  }
  return Fail(ErrorCode::kConflict,
              store_->Describe(request.key) + ": somebody keeps replacing it without its lock");
}

}  // namespace unshard
