#include "store/remote/settled_write.h"

#include <algorithm>
#include <utility>

#include "store/http/retry.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;
using Outcome = Committed::Outcome;
using Now = std::optional<RemoteObject>;

SettledWrite Ended(Outcome outcome) { return {Committed{outcome}, std::nullopt}; }

SettledWrite Applied(Now now) {
  SettledWrite settled = Ended(Outcome::kCommitted);
  if (now) settled.committed.object = now->info;
  settled.now = std::move(now);
  return settled;
}

SettledWrite Unknown(Error reason) {
  SettledWrite settled = Ended(Outcome::kUnknown);
  settled.committed.reason = std::move(reason);
  return settled;
}

// What a look at the object after a write without a clear answer says of it.
struct Finding {
  enum class Kind { kApplied, kNotApplied, kConflict };
  Kind kind = Kind::kConflict;
  Now now{};  // kApplied
};

// One write with all its tries.
class Settling {
 public:
  using Judge = std::function<Finding(const Now& now)>;

  Settling(ObjectWriter& writer, const std::string& key, const WriteTries& tries, Judge judge)
      : writer_(writer),
        key_(key),
        tries_(tries),
        judge_(std::move(judge)),
        delays_({tries.most, tries.most, tries.least_delay, tries.most_delay}, RandomFraction) {}

  Result<SettledWrite> Run(const TryWrite& write) {
    for (;;) {
      WriteAnswer answer = write();  // 1
      if (answer.kind == Kind::kRefused) return Refused(std::move(answer.reason));
      if (answer.kind == Kind::kApplied && IsWhole(answer)) return Checked(answer.object);  // 2
      if (answer.kind != Kind::kNotSent) {
        may_still_come_ = may_still_come_ || answer.kind == Kind::kLost;
        auto now = writer_.Look(key_, CallerDeadline());  // 3
        if (!now) return Unknown(std::move(now).error());
        Finding finding = judge_(*now);
        if (finding.kind == Finding::Kind::kApplied) return Checked(std::move(finding.now));
        if (finding.kind == Finding::Kind::kConflict) return Ended(Outcome::kConditionFailed);
        if (answer.kind == Kind::kApplied) answer.reason = NotThere();
      }
      const auto delay = delays_.Next(false, answer.retry_after);
      if (!delay || !tries_.wait(*delay)) return GivenUp(std::move(answer.reason));  // 4
    }
  }

  // Of the version that is made; nothing: the object is removed, and answers name nothing.
  std::optional<std::uint64_t> size{};

 private:
  [[nodiscard]] bool IsWhole(const WriteAnswer& answer) const {
    return !size || answer.object.has_value();
  }
  // A service that makes an object of half an upload is not to be believed.
  [[nodiscard]] Result<SettledWrite> Checked(Now now) const {
    if (!size || !now || now->info.size == *size) return Applied(std::move(now));
    return Fail(ErrorCode::kDataLoss, writer_.Describe(key_), ": expected the new version to have ",
                *size, " bytes, but the service holds ", now->info.size);
  }
  [[nodiscard]] Error NotThere() const {
    return {
        ErrorCode::kUnavailable,
        writer_.Describe(key_) + ": the service reported success, but the object was not replaced",
        0};
  }
  Result<SettledWrite> Refused(Error reason) const {
    // An earlier try may have been applied meanwhile.
    if (may_still_come_) return Unknown(std::move(reason));
    return tl::unexpected<Error>(std::move(reason));
  }
  Result<SettledWrite> GivenUp(Error reason) const { return Refused(std::move(reason)); }

  ObjectWriter& writer_;
  const std::string& key_;
  const WriteTries& tries_;
  const Judge judge_;
  RetryDelays delays_;
  bool may_still_come_ = false;
};

bool IsBase(const Now& now, const std::optional<RemoteObject>& base) {
  if (!now || !base) return !now && !base;
  return now->validator == base->validator;
}

}  // namespace

Result<SettledWrite> SettleCommit(ObjectWriter& writer, const std::string& key,
                                  const std::optional<RemoteObject>& base,
                                  const std::string& attempt, std::uint64_t size,
                                  const TryWrite& write, const WriteTries& tries) {
  const auto judge = [&](const Now& now) -> Finding {
    if (now && !now->attempts.empty() && now->attempts.front() == attempt) {
      return {Finding::Kind::kApplied, now};
    }
    if (now &&
        std::find(now->attempts.begin(), now->attempts.end(), attempt) != now->attempts.end()) {
      // Another mount has replaced what this attempt has made. Its validator is not known any more:
      // a generation that no version has.
      RemoteObject replaced = *now;
      replaced.info.size = size;
      replaced.info.generation = {"replaced, made by " + attempt};
      replaced.validator.clear();
      return {Finding::Kind::kApplied, std::move(replaced)};
    }
    return {IsBase(now, base) ? Finding::Kind::kNotApplied : Finding::Kind::kConflict};
  };
  Settling settling(writer, key, tries, judge);
  settling.size = size;
  return settling.Run(write);
}

Result<SettledWrite> SettleRemoval(ObjectWriter& writer, const std::string& key,
                                   const RemoteObject& base, const TryWrite& write,
                                   const WriteTries& tries) {
  // A try whose answer does not say whether it, or another process, has removed the object.
  bool may_have_removed = false;
  const auto noting = [&] {
    WriteAnswer answer = write();
    may_have_removed =
        may_have_removed || answer.kind == Kind::kLost || answer.kind == Kind::kFailed;
    return answer;
  };
  const auto judge = [&](const Now& now) -> Finding {
    if (!now && may_have_removed) return {Finding::Kind::kApplied};
    return {IsBase(now, base) ? Finding::Kind::kNotApplied : Finding::Kind::kConflict};
  };
  return Settling(writer, key, tries, judge).Run(noting);
}

}  // namespace unshard
