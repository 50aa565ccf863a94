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
  Result<ReadResult> Read(const RangeRequest& range) override {
    const auto fault = plan_->Next();
    auto read = below_->Read(range);
    return fault ? Spoil(std::move(read), *fault) : read;
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

Result<std::optional<ObjectInfo>> FaultyStore::Stat(std::string_view key) {
  if (plan_->Next()) return Injected();
  return below_->Stat(key);
}

Result<std::shared_ptr<ObjectVersion>> FaultyStore::Open(std::string_view key) {
  const auto fault = plan_->Next();
  if (fault && *fault != Fault::kChanged) return Injected();
  UNSHARD_ASSIGN_OR_RETURN(auto handle, below_->Open(key));
  if (!handle) return nullptr;
  return std::make_shared<Handle>(std::move(handle), plan_, fault.has_value());
}

Result<ReadResult> FaultyStore::Read(std::string_view key, const ReadOptions& options) {
  const auto fault = plan_->Next();
  auto read = below_->Read(key, options);
  return fault ? Spoil(std::move(read), *fault) : read;
}

Status FaultyStore::List(std::string_view key, const ListVisitor& visitor) {
  if (plan_->Next()) return Injected();
  return below_->List(key, visitor);
}

}  // namespace unshard
