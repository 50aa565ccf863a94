#include "tests/support/faulty_store.h"

namespace unshard {
namespace {

tl::unexpected<Error> Injected() { return Fail(ErrorCode::kUnavailable, "a fault was asked for"); }

Result<ReadResult> Spoil(Result<ReadResult> read, Fault fault) {
  if (fault == Fault::kError) return Injected();
  if (!read) return read;
  if (fault == Fault::kShort) {
    read->value = read->value.Slice(0, read->value.size() / 2);
  } else {
    read->state = ReadResult::State::kConditionFailed;
    read->value = Bytes();
  }
  return read;
}

}  // namespace

std::optional<Fault> FaultyStore::Plan::Next() {
  const std::lock_guard lock(mutex);
  if (++calls != fail_at) return std::nullopt;
  return fault;
}

class FaultyStore::Handle final : public ObjectVersion {
 public:
  Handle(std::shared_ptr<ObjectVersion> below, std::shared_ptr<Plan> plan, bool changed)
      : below_(std::move(below)), plan_(std::move(plan)), info_(below_->info()) {
    if (changed) info_.generation.tag += "-changed";
  }
  const ObjectInfo& info() const override { return info_; }
  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const auto fault = plan_->Next();
    if (!fault) return below_->StartRead(range, deadline, std::move(done));
    below_->StartRead(range, deadline, [fault, done = std::move(done)](Result<ReadResult> read) {
      done(Spoil(std::move(read), *fault));
    });
  }
  std::optional<FileSlice> Slice(const ByteRange& range) override {
    if (plan_->Next()) return std::nullopt;
    return below_->Slice(range);
  }

 private:
  const std::shared_ptr<ObjectVersion> below_;
  const std::shared_ptr<Plan> plan_;
  ObjectInfo info_;
};

FaultyStore::FaultyStore(std::shared_ptr<ObjectStore> below) : below_(std::move(below)) {}

void FaultyStore::FailAfter(std::uint64_t calls, Fault fault) {
  const std::lock_guard lock(plan_->mutex);
  plan_->fail_at = plan_->calls + calls + 1;
  plan_->fault = fault;
}

void FaultyStore::Heal() {
  const std::lock_guard lock(plan_->mutex);
  plan_->fail_at = 0;
}

std::uint64_t FaultyStore::calls() const {
  const std::lock_guard lock(plan_->mutex);
  return plan_->calls;
}

Result<std::optional<ObjectInfo>> FaultyStore::Stat(std::string_view key,
                                                    const Deadline& deadline) {
  if (plan_->Next().value_or(Fault::kChanged) != Fault::kChanged) return Injected();
  return below_->Stat(key, deadline);
}

Result<ObjectStore::Opened> FaultyStore::Open(std::string_view key, const RangeRequest& first,
                                              const Deadline& deadline) {
  const auto fault = plan_->Next();
  if (fault == Fault::kError) return Injected();
  UNSHARD_ASSIGN_OR_RETURN(Opened opened, below_->Open(key, first, deadline));
  if (!opened.version) return opened;
  if (fault == Fault::kShort) opened.first = opened.first.Slice(0, opened.first.size() / 2);
  opened.version =
      std::make_shared<Handle>(std::move(opened.version), plan_, fault == Fault::kChanged);
  return opened;
}

Status FaultyStore::List(std::string_view key, const Deadline& deadline,
                         const ListVisitor& visitor) {
  if (plan_->Next().value_or(Fault::kChanged) != Fault::kChanged) return Injected();
  return below_->List(key, deadline, visitor);
}

}  // namespace unshard
