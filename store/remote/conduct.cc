#include "store/remote/conduct.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "store/http/bodies.h"
#include "store/object/catch_exceptions.h"
#include "store/remote/attempt_ids.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;
using Now = std::optional<RemoteObject>;

// Answers that say nothing of conditions are asked for again so many times.
constexpr int kMostTries = 8;
constexpr std::chrono::milliseconds kDelay{200};
// Threads that wait for the same store do not each find out that it is away.
constexpr std::chrono::seconds kFailureIsKept{2};

std::string WithoutQuotes(const std::string& validator) {
  if (validator.size() < 2 || validator.front() != '"' || validator.back() != '"') return validator;
  return validator.substr(1, validator.size() - 2);
}

// Writes to one object that no other process knows. Used by one thread.
class Probe {
 public:
  Probe(ObjectWriter& writer, const WriteTries& tries)
      : writer_(writer), tries_(tries), key_(std::string(kProbePrefix) + NewAttemptId()) {}
  ~Probe() {
    if (may_be_there_) writer_.Delete(key_, {});
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  Result<Conduct> Run();
  Result<PartsConduct> RunParts(const Conduct& conduct);

 private:
  // What became of a write with a condition that is false.
  enum class Kept { kKept, kIgnored };

  [[nodiscard]] NewObject Named(const WriteCondition& condition, const std::string& id) const {
    return {key_, condition, {id}, {{"Content-Type", "text/plain"}}};
  }
  static std::string TextOf(const std::string& id) { return "written by unshard: " + id; }
  WriteAnswer Put(const WriteCondition& condition, const std::string& id) {
    return writer_.Put(Named(condition, id), BodyOf(TextOf(id)));
  }
  // The probe's object as it is now; kUnavailable where it is missing.
  Result<RemoteObject> Look();
  Status Create();
  Result<Kept> Try(const std::function<WriteAnswer()>& write);
  Result<bool> TakesRightCondition(const WriteCondition& condition);
  Result<bool> RemovesConditionally(const WriteCondition& wrong, const WriteCondition& right);
  Result<Kept> TryParts(const WriteCondition& condition);
  Result<PartsConduct> TryCopy(const WriteCondition& wrong, const WriteCondition& right);
  [[nodiscard]] tl::unexpected<Error> GivenUp(Error reason) const {
    return Forward(std::move(reason), writer_.Describe(key_) + ": testing conditional writes");
  }

  ObjectWriter& writer_;
  const WriteTries& tries_;
  const std::string key_;
  bool may_be_there_ = false;
  RemoteObject now_;  // as it was looked at last
};

Result<RemoteObject> Probe::Look() {
  UNSHARD_ASSIGN_OR_RETURN(const Now now, writer_.Look(key_, CallerDeadline()));
  if (now) return *now;
  return Fail(ErrorCode::kUnavailable, writer_.Describe(key_), ": has vanished");
}

Status Probe::Create() {
  const std::string id = NewAttemptId();
  may_be_there_ = true;
  const WriteCondition missing{WriteCondition::Kind::kMissing, {}};
  auto settled = SettleCommit(
      writer_, key_, std::nullopt, id, TextOf(id).size(), [&] { return Put(missing, id); }, tries_);
  if (!settled) return GivenUp(std::move(settled).error());
  if (settled->committed.outcome == Committed::Outcome::kUnknown) {
    return GivenUp(std::move(settled->committed.reason));
  }
  UNSHARD_ASSIGN_OR_RETURN(now_, Look());
  return {};
}

// Whether the object is still what it was after a write that must not be applied.
Result<Probe::Kept> Probe::Try(const std::function<WriteAnswer()>& write) {
  Error reason{ErrorCode::kUnavailable, "the store gave no clear answer", 0};
  for (int i = 0; i < kMostTries; ++i) {
    WriteAnswer answer = write();
    UNSHARD_ASSIGN_OR_RETURN(const Now now, writer_.Look(key_, CallerDeadline()));
    if (!now || now->validator != now_.validator) return Kept::kIgnored;
    if (answer.kind == Kind::kConditionFailed) return Kept::kKept;
    // A service that knows no conditions refuses them: nothing can be written, but nothing is lost.
    if (answer.kind == Kind::kRefused && answer.reason.code == ErrorCode::kNotSupported) {
      return Kept::kIgnored;
    }
    reason = std::move(answer.reason);
    if (answer.kind == Kind::kRefused || !tries_.wait(kDelay)) break;
  }
  return GivenUp(std::move(reason));
}

// Replaces the object; true where it was.
Result<bool> Probe::TakesRightCondition(const WriteCondition& condition) {
  const std::string id = NewAttemptId();
  Error reason{ErrorCode::kUnavailable, "the store gave no clear answer", 0};
  int failed = 0;
  for (int i = 0; i < kMostTries; ++i) {
    WriteAnswer answer = Put(condition, id);
    UNSHARD_ASSIGN_OR_RETURN(const RemoteObject now, Look());
    if (now.validator != now_.validator) {
      now_ = now;
      return true;
    }
    if (answer.kind == Kind::kRefused && answer.reason.code == ErrorCode::kNotSupported) {
      return false;
    }
    // Once it may have been said because of other requests.
    if (answer.kind == Kind::kConditionFailed && ++failed == 2) return false;
    reason = std::move(answer.reason);
    if (answer.kind == Kind::kRefused || !tries_.wait(kDelay)) break;
  }
  return GivenUp(std::move(reason));
}

Result<bool> Probe::RemovesConditionally(const WriteCondition& wrong, const WriteCondition& right) {
  UNSHARD_ASSIGN_OR_RETURN(const Kept kept, Try([&] { return writer_.Delete(key_, wrong); }));
  if (kept == Kept::kIgnored) return false;
  WriteAnswer answer = writer_.Delete(key_, right);
  UNSHARD_ASSIGN_OR_RETURN(const Now now, writer_.Look(key_, CallerDeadline()));
  may_be_there_ = now.has_value();
  return !now.has_value();
}

Result<Conduct> Probe::Run() {
  Conduct conduct;
  UNSHARD_RETURN_IF_ERROR(Create());
  if (now_.attempts.size() != 1) {
    conduct.missing =
        "it keeps no user metadata, without which a write whose answer was lost cannot be found";
    return conduct;
  }
  const std::string id = NewAttemptId();
  const WriteCondition missing{WriteCondition::Kind::kMissing, {}};
  UNSHARD_ASSIGN_OR_RETURN(Kept kept, Try([&] { return Put(missing, id); }));
  if (kept == Kept::kIgnored) {
    conduct.missing = "it ignores the condition that an object is missing (If-None-Match: *)";
    return conduct;
  }
  const RemoteObject first = now_;
  UNSHARD_ASSIGN_OR_RETURN(bool taken, TakesRightCondition(ConditionFor(first, conduct)));
  if (!taken && writer_.traits().validators_have_quotes) {
    conduct.unquoted = true;
    UNSHARD_ASSIGN_OR_RETURN(taken, TakesRightCondition(ConditionFor(first, conduct)));
  }
  if (!taken) {
    conduct.missing = "it does not replace objects on the condition of their version (If-Match)";
    return conduct;
  }
  const WriteCondition wrong = ConditionFor(first, conduct);
  const std::string other = NewAttemptId();
  UNSHARD_ASSIGN_OR_RETURN(kept, Try([&] { return Put(wrong, other); }));
  if (kept == Kept::kIgnored) {
    conduct.missing = "it ignores the condition of an object's version (If-Match)";
    return conduct;
  }
  UNSHARD_ASSIGN_OR_RETURN(conduct.removes_conditionally,
                           RemovesConditionally(wrong, ConditionFor(now_, conduct)));
  return conduct;
}

// An upload that must not be completed.
Result<Probe::Kept> Probe::TryParts(const WriteCondition& condition) {
  const std::string id = NewAttemptId();
  const std::string text = "written in parts by unshard: " + id;
  return Try([&]() -> WriteAnswer {
    auto upload = writer_.BeginParts(Named(condition, id), text.size(), text.size());
    if (!upload) return {Kind::kFailed, {}, std::move(upload).error()};
    WriteAnswer answer;
    if (const Status put = (*upload)->Put(0, BodyOf(text)); put) {
      answer = (*upload)->Complete();
    } else {
      answer = {Kind::kFailed, {}, put.error()};
    }
    if (answer.kind != Kind::kApplied) (*upload)->Abort();
    return answer;
  });
}

Result<PartsConduct> Probe::TryCopy(const WriteCondition& wrong, const WriteCondition& right) {
  PartsConduct conduct;
  conduct.completes_conditionally = true;
  if (!writer_.traits().copies_ranges) return conduct;
  const ByteRange all{0, now_.info.size};
  for (const bool is_right : {false, true}) {
    const std::string id = NewAttemptId();
    UNSHARD_ASSIGN_OR_RETURN(
        const auto upload,
        writer_.BeginParts(Named(is_right ? right : wrong, id), all.size, all.size));
    const Status copied = upload->Copy(0, all);
    const bool applied =
        is_right && copied && upload->Complete().kind == WriteAnswer::Kind::kApplied;
    if (!applied) upload->Abort();
    if (!copied && copied.error().code != ErrorCode::kConflict &&
        copied.error().code != ErrorCode::kNotSupported) {
      return GivenUp(copied.error());
    }
    if (copied.has_value() != is_right) return conduct;
  }
  conduct.copies_conditionally = true;
  return conduct;
}

Result<PartsConduct> Probe::RunParts(const Conduct& conduct) {
  UNSHARD_RETURN_IF_ERROR(Create());
  const RemoteObject first = now_;
  UNSHARD_ASSIGN_OR_RETURN(const bool taken, TakesRightCondition(ConditionFor(first, conduct)));
  if (!taken) return PartsConduct();
  const WriteCondition wrong = ConditionFor(first, conduct);
  for (const WriteCondition& condition :
       {wrong, WriteCondition{WriteCondition::Kind::kMissing, {}}}) {
    UNSHARD_ASSIGN_OR_RETURN(const Kept kept, TryParts(condition));
    if (kept == Kept::kIgnored) return PartsConduct();
  }
  return TryCopy(wrong, ConditionFor(now_, conduct));
}

}  // namespace

Result<Conduct> ProbeConduct(ObjectWriter& writer, const WriteTries& tries) {
  return Probe(writer, tries).Run();
}

Result<PartsConduct> ProbePartsConduct(ObjectWriter& writer, const Conduct& conduct,
                                       const WriteTries& tries) {
  return Probe(writer, tries).RunParts(conduct);
}

WriteCondition ConditionFor(const std::optional<RemoteObject>& base, const Conduct& conduct) {
  WriteCondition condition = WriteCondition::Of(base);
  if (conduct.unquoted) condition.validator = WithoutQuotes(condition.validator);
  return condition;
}

template <class Found>
struct KnownConduct::Slot {
  bool probing = false;
  std::optional<Found> found;
  std::optional<Error> failure;
  std::chrono::steady_clock::time_point failed{};
};

struct KnownConduct::State {
  mutable std::mutex mutex;
  std::condition_variable_any changed;
  // Guarded by mutex.
  Slot<Conduct> whole;
  Slot<PartsConduct> parts;
};

KnownConduct::KnownConduct() : state_(std::make_shared<State>()) {}

std::shared_ptr<KnownConduct> KnownConduct::Of(const ObjectWriter& writer) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<KnownConduct>> known;  // guarded by mutex
  const std::lock_guard lock(mutex);
  auto& conduct = known[writer.Bucket()];
  if (!conduct) conduct.reset(new KnownConduct());
  return conduct;
}

template <class Found>
Result<Found> KnownConduct::GetOnce(Slot<Found>& slot,
                                    const std::function<Result<Found>()>& probe) {
  {
    std::unique_lock lock(state_->mutex);
    UNSHARD_RETURN_IF_ERROR(WaitUntil(state_->changed, lock, CallerDeadline(),
                                      "waiting until the store is probed",
                                      [&] { return !slot.probing; }));
    if (slot.found) return *slot.found;
    if (slot.failure && std::chrono::steady_clock::now() < slot.failed + kFailureIsKept) {
      return tl::unexpected<Error>(*slot.failure);
    }
    slot.probing = true;
  }
  auto found = CatchExceptions(probe);
  const std::lock_guard lock(state_->mutex);
  slot.probing = false;
  if (found) {
    slot.found = *found;
  } else if (CallerDeadline().Check("")) {
    slot.failure = found.error();
    slot.failed = std::chrono::steady_clock::now();
  }
  state_->changed.notify_all();
  return found;
}

Result<Conduct> KnownConduct::Get(ObjectWriter& writer, const WriteTries& tries) {
  return GetOnce<Conduct>(state_->whole, [&] { return ProbeConduct(writer, tries); });
}

Result<PartsConduct> KnownConduct::GetParts(ObjectWriter& writer, const WriteTries& tries) {
  UNSHARD_ASSIGN_OR_RETURN(const Conduct conduct, Get(writer, tries));
  return GetOnce<PartsConduct>(state_->parts,
                               [&] { return ProbePartsConduct(writer, conduct, tries); });
}

std::optional<Conduct> KnownConduct::Known() const {
  const std::lock_guard lock(state_->mutex);
  return state_->whole.found;
}

}  // namespace unshard
