#include "store/remote/remote_replacer.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "store/object/concatenated_object.h"
#include "store/remote/assembled_version.h"
#include "store/remote/attempt_ids.h"
#include "store/remote/conduct.h"
#include "store/remote/parted_write.h"
#include "store/remote/remembered_version.h"
#include "store/remote/settled_write.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

// Who opens a file for writing does not wait for a store that is away.
constexpr int kTriesOfWaitingCaller = 2;
constexpr std::chrono::seconds kPatienceOfCaller{10};
// Of a publish, for the answers to step 1 together: as long as the other requests have.
constexpr std::chrono::seconds kPatienceOfPublish{30};

// While it lives, requests of this thread end at `deadline`, or earlier as its caller wants.
class EndsAt {
 public:
  explicit EndsAt(const Clock::time_point& deadline)
      : caller_(CallerDeadline()),
        served_(std::min(caller_.at, deadline), nullptr, [this] { return caller_.stop; }) {}

 private:
  const Deadline caller_;
  const ServedCaller served_;
};

// When each object was written last, as far as that limits the next time. Thread-safe.
class LastWrites {
 public:
  explicit LastWrites(std::chrono::milliseconds interval) : interval_(interval) {}

  // How long to wait before `key` is written; notes the time that it is written at then.
  std::chrono::milliseconds Next(const std::string& key) {
    if (interval_.count() == 0) return interval_;
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    std::erase_if(times_, [&](const auto& each) { return each.second + interval_ < now; });
    const auto found = times_.find(key);
    const auto at = found == times_.end() ? now : std::max(now, found->second + interval_);
    times_[key] = at;
    return std::chrono::ceil<std::chrono::milliseconds>(at - now);
  }

 private:
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> times_;  // guarded by mutex_
};

// Where uploads are recorded at present. Thread-safe.
class CurrentRecords {
 public:
  void Set(std::shared_ptr<UploadRecords> records) {
    const std::lock_guard lock(mutex_);
    records_ = std::move(records);
  }
  [[nodiscard]] std::shared_ptr<UploadRecords> Get() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<UploadRecords> records_;  // guarded by mutex_
};

// What all replacements of one store share. All members are immutable or thread-safe.
struct Shared {
  std::shared_ptr<ObjectWriter> writer;
  std::shared_ptr<ObjectStore> objects;
  RemoteOptions options;
  std::shared_ptr<KnownConduct> conduct;
  LastWrites last_writes;
  CurrentRecords uploads;

  [[nodiscard]] WriteTries Tries(const std::stop_token& stop) const {
    return {options.tries, options.least_delay, options.most_delay,
            [stop](std::chrono::milliseconds delay) {
              return Pause(delay, {Clock::time_point::max(), stop}, "waiting").has_value();
            }};
  }
  // Step 1. kReadOnly, saying why, where objects may not be replaced.
  [[nodiscard]] Result<Conduct> WritableConduct(const std::string& key, int most_tries,
                                                const std::stop_token& stop) const {
    WriteTries tries = Tries(stop);
    tries.most = std::min(tries.most, most_tries);
    UNSHARD_ASSIGN_OR_RETURN(const Conduct found, conduct->Get(*writer, tries));
    if (found.missing.empty() || options.single_writer) return found;
    return FailWith(EROFS, ErrorCode::kReadOnly, writer->Describe(key),
                    ": the store cannot be written safely, because ", found.missing,
                    ": writes of several hosts could be lost; if no other host writes, mount with "
                    "single_writer");
  }
};

class RemoteReplacement final : public ObjectReplacement {
 public:
  RemoteReplacement(std::shared_ptr<Shared> shared, const ReplacedObject& object,
                    std::stop_token stop)
      : shared_(std::move(shared)),
        object_(object),
        described_(shared_->writer->Describe(object.key)),
        tries_(shared_->Tries(stop)) {}

  Status OpenBase(const std::stop_token& stop);

  const std::shared_ptr<ObjectVersion>& base() const override { return base_; }
  bool base_is_pair() const override { return is_pair_; }
  std::string attempt() const override { return attempt_; }
  Result<bool> StartFromBase() override;
  Status Write(std::uint64_t at, ByteSpan bytes) override { return version_->Write(at, bytes); }
  Status CopyBase(const ByteRange& range, std::uint64_t at) override {
    return version_->CopyBase(range, at);
  }
  Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) override {
    return version_->ReadBack(at, to);
  }
  Status SetSize(std::uint64_t size) override { return version_->SetSize(size); }
  Result<std::uint64_t> Size() override { return version_->Size(); }
  Result<Committed> Commit(const Committing& committing) override;
  Result<Committed> Remove(const Committing& committing) override;
  Status MakeDurable() override;

 private:
  [[nodiscard]] ObjectWriter& writer() const { return *shared_->writer; }
  Result<NewObject> Named();
  // In parts: how. Nothing: in one request.
  Result<std::optional<PartPlan>> Plan();
  [[nodiscard]] bool MayCopy(std::uint64_t bytes) const;
  Result<SettledWrite> CommitWhole(const Committing& committing);
  Result<SettledWrite> CommitParts(const PartPlan& plan, const Committing& committing);
  Result<SettledWrite> Settle(const TryWrite& write);
  Status RemovePair();

  const std::shared_ptr<Shared> shared_;
  const ReplacedObject object_;
  const std::string described_;
  const WriteTries tries_;
  const std::string attempt_ = NewAttemptId();
  Conduct conduct_;
  std::optional<RemoteObject> current_;  // what stands under the key itself, as far as we know
  std::shared_ptr<ObjectVersion> base_;
  bool is_pair_ = false;
  bool has_pair_ = false;  // it has not been removed yet
  std::optional<AssembledVersion> version_;
};

Status RemoteReplacement::OpenBase(const std::stop_token& stop) {
  {
    const EndsAt soon(Clock::now() + kPatienceOfPublish);
    UNSHARD_ASSIGN_OR_RETURN(conduct_, shared_->WritableConduct(object_.key, tries_.most, stop));
  }
  UNSHARD_ASSIGN_OR_RETURN(current_, writer().Look(object_.key, CallerDeadline()));  // 2
  std::shared_ptr<ObjectVersion> plain;
  if (current_) {
    plain = writer().Open(object_.key, *current_);
  } else if (object_.obsolete) {
    UNSHARD_ASSIGN_OR_RETURN(auto pair, OpenConcatenated(*shared_->objects, object_.obsolete->index,
                                                         object_.obsolete->data,
                                                         RangeRequest::At(0, 0), CallerDeadline()));
    plain = std::move(pair.version);
    has_pair_ = is_pair_ = plain != nullptr;
  }
  if (plain) base_ = MakeRememberedVersion(plain);
  UNSHARD_ASSIGN_OR_RETURN(auto file, ScratchFile::Make(shared_->options.scratch_directory));
  version_.emplace(std::move(file), std::move(plain), base_, described_);
  return {};
}

// Whether the service will copy ranges of the base where that spares moving so many bytes.
bool RemoteReplacement::MayCopy(std::uint64_t bytes) const {
  return current_ && bytes >= shared_->options.copies_from && writer().traits().copies_ranges;
}

Result<bool> RemoteReplacement::StartFromBase() {
  if (!current_ || !MayCopy(base_->info().size)) return false;
  UNSHARD_ASSIGN_OR_RETURN(const PartsConduct parts, shared_->conduct->GetParts(writer(), tries_));
  if (!parts.completes_conditionally || !parts.copies_conditionally) return false;
  UNSHARD_RETURN_IF_ERROR(version_->CopyBase({0, base_->info().size}, 0));
  return true;
}

Result<NewObject> RemoteReplacement::Named() {
  if (current_) UNSHARD_RETURN_IF_ERROR(writer().AddGrants(object_.key, *current_));
  NewObject object;
  object.key = object_.key;
  object.condition = ConditionFor(current_, conduct_);
  object.attempts =
      WithAttemptBefore(attempt_, current_ ? current_->attempts : std::vector<std::string>());
  if (current_) object.kept = current_->kept;
  return object;
}

Result<std::optional<PartPlan>> RemoteReplacement::Plan() {
  const std::uint64_t size = version_->size();
  const RemoteOptions& options = shared_->options;
  const WriterTraits traits = writer().traits();
  const PartPlan copying =
      PartPlan::Of(std::max<std::uint64_t>(size, 1), options.part_bytes, traits, true);
  const bool copies = MayCopy(BytesToCopy(*version_, copying));
  if (size <= options.parts_above && !copies) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const PartsConduct parts, shared_->conduct->GetParts(writer(), tries_));
  const bool may_copy = copies && parts.copies_conditionally;
  if (parts.completes_conditionally || options.single_writer) {
    if (size <= options.parts_above && !may_copy) return std::nullopt;
    return PartPlan{copying.part_bytes, may_copy};
  }
  if (size <= traits.most_single_bytes) return std::nullopt;
  return Fail(
      ErrorCode::kNotSupported, described_, ": is larger than the ", traits.most_single_bytes,
      " bytes that the store takes in one request, and it ignores conditions on larger uploads");
}

Result<SettledWrite> RemoteReplacement::Settle(const TryWrite& write) {
  const auto in_time = [&]() -> WriteAnswer {
    const auto delay = shared_->last_writes.Next(object_.key);
    if (delay.count() > 0) tries_.wait(delay);
    return write();
  };
  return SettleCommit(writer(), object_.key, current_, attempt_, version_->size(), in_time, tries_);
}

Result<SettledWrite> RemoteReplacement::CommitWhole(const Committing& committing) {
  const ByteRange all{0, version_->size()};
  UNSHARD_RETURN_IF_ERROR(version_->Fetch(all));
  UNSHARD_ASSIGN_OR_RETURN(const NewObject object, Named());
  UNSHARD_RETURN_IF_ERROR(committing());
  return Settle([&] { return writer().Put(object, version_->Body(all)); });
}

Result<SettledWrite> RemoteReplacement::CommitParts(const PartPlan& plan,
                                                    const Committing& committing) {
  UNSHARD_ASSIGN_OR_RETURN(const NewObject object, Named());
  PartedWrite parts(writer(), object, *version_, plan, shared_->uploads.Get());
  UNSHARD_RETURN_IF_ERROR(parts.Upload());
  UNSHARD_RETURN_IF_ERROR(committing());
  return Settle([&] { return parts.Complete(); });
}

Result<Committed> RemoteReplacement::Commit(const Committing& committing) {
  UNSHARD_ASSIGN_OR_RETURN(const auto plan, Plan());  // 4
  bool agreed = false;
  const auto noting = [&]() -> Status {
    UNSHARD_RETURN_IF_ERROR(committing());
    agreed = true;
    return {};
  };
  auto settled = plan ? CommitParts(*plan, noting) : CommitWhole(noting);  // 5
  if (!settled) {
    // The base could not be read any more.
    if (!agreed && settled.error().code == ErrorCode::kConflict) return Committed{};
    return tl::unexpected<Error>(std::move(settled).error());
  }
  if (settled->committed.outcome == Committed::Outcome::kCommitted) {
    current_ = std::move(settled->now);
    is_pair_ = false;
  }
  return std::move(settled->committed);
}

Status RemoteReplacement::RemovePair() {
  if (!object_.obsolete) return {};
  for (const std::string& key : {object_.obsolete->index, object_.obsolete->data}) {
    // Readers ask for the successor first: nothing that a reader sees is removed.
    for (int i = 0;; ++i) {
      WriteAnswer answer = writer().Delete(key, {});
      if (answer.kind == WriteAnswer::Kind::kApplied ||
          answer.kind == WriteAnswer::Kind::kConditionFailed) {
        break;
      }
      if (answer.kind == WriteAnswer::Kind::kRefused || i == tries_.most ||
          !tries_.wait(tries_.least_delay)) {
        return Forward(std::move(answer.reason), writer().Describe(key) + ": removing it");
      }
    }
  }
  has_pair_ = false;
  return {};
}

Result<Committed> RemoteReplacement::Remove(const Committing& committing) {
  if (!current_) return Committed{};
  const RemoteOptions& options = shared_->options;
  const bool blind = !conduct_.removes_conditionally && !options.single_writer;
  if (blind && options.removals == Removals::kConditional) {
    return Fail(ErrorCode::kNotSupported, described_,
                ": is not removed, because the store ignores conditions on removals, and a version "
                "that another host wrote since could be lost");
  }
  UNSHARD_RETURN_IF_ERROR(committing());
  if (blind || object_.obsolete) {
    UNSHARD_ASSIGN_OR_RETURN(const auto now, writer().Look(object_.key, CallerDeadline()));
    if (!now || now->validator != current_->validator) return Committed{};
  }
  // A pair must not come back to life.
  if (object_.obsolete) UNSHARD_RETURN_IF_ERROR(RemovePair());
  const WriteCondition condition = ConditionFor(current_, conduct_);
  UNSHARD_ASSIGN_OR_RETURN(SettledWrite settled,
                           SettleRemoval(
                               writer(), object_.key, *current_,
                               [&] { return writer().Delete(object_.key, condition); }, tries_));
  if (settled.committed.outcome == Committed::Outcome::kCommitted) current_.reset();
  return std::move(settled.committed);
}

Status RemoteReplacement::MakeDurable() { return current_ && has_pair_ ? RemovePair() : Status(); }

class RemoteReplacer final : public ObjectReplacer {
 public:
  explicit RemoteReplacer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  Status CanReplace(const std::string& key) override;
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& deadline) override;
  Status MakeDurable(const std::string& directory) override { return CheckKey(directory); }
  Result<std::vector<std::string>> Attempts(const std::string& key) override;
  void RecordUploads(std::shared_ptr<UploadRecords> records) override {
    shared_->uploads.Set(std::move(records));
  }
  Status DropUpload(const std::string& key, const std::string& upload) override {
    UNSHARD_RETURN_IF_ERROR(CheckKey(key));
    return shared_->writer->DropParts(key, upload);
  }
  bool removes_atomically() const override { return false; }
  std::chrono::milliseconds least_interval() const override {
    return shared_->writer->traits().least_interval;
  }
  std::string Describe(const std::string& key) const override {
    return shared_->writer->Describe(key);
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

Status RemoteReplacer::CanReplace(const std::string& key) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  StoreContact* const contact = shared_->options.contact.get();
  if (contact != nullptr && !shared_->conduct->Known() && contact->IsAway()) return {};
  const EndsAt soon(Clock::now() + kPatienceOfCaller);
  const auto conduct = shared_->WritableConduct(key, kTriesOfWaitingCaller, {});
  if (conduct) return {};
  if (contact != nullptr && MeansAway(conduct.error())) contact->FoundAway(conduct.error());
  // Of a store that is away nothing is known: what is accepted now waits for it.
  if (conduct.error().code == ErrorCode::kUnavailable) return {};
  return tl::unexpected<Error>(conduct.error());
}

Result<std::unique_ptr<ObjectReplacement>> RemoteReplacer::Begin(const ReplacedObject& object,
                                                                 const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(object.key));
  const EndsAt in_time(deadline.at);
  auto replacement = std::make_unique<RemoteReplacement>(shared_, object, deadline.stop);
  UNSHARD_RETURN_IF_ERROR(replacement->OpenBase(deadline.stop));
  return replacement;
}

Result<std::vector<std::string>> RemoteReplacer::Attempts(const std::string& key) {
  UNSHARD_ASSIGN_OR_RETURN(auto now, shared_->writer->Look(key, CallerDeadline()));
  return now ? std::move(now->attempts) : std::vector<std::string>();
}

}  // namespace

std::shared_ptr<ObjectReplacer> MakeRemoteReplacer(std::shared_ptr<ObjectWriter> writer,
                                                   std::shared_ptr<ObjectStore> objects,
                                                   const RemoteOptions& options) {
  auto conduct = KnownConduct::Of(*writer);
  const auto interval = writer->traits().least_interval;
  return std::make_shared<RemoteReplacer>(std::shared_ptr<Shared>(new Shared{std::move(writer),
                                                                             std::move(objects),
                                                                             options,
                                                                             std::move(conduct),
                                                                             LastWrites(interval),
                                                                             {}}));
}

}  // namespace unshard
