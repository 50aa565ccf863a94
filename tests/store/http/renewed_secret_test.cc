#include "store/http/renewed_secret.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <new>
#include <string>
#include <vector>

#include "tests/support/no_more_threads.h"

namespace unshard {
namespace {

using Secret = RenewedSecret<std::string>;
using SecretClock = std::chrono::system_clock;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Result<std::string> Get(Secret& secret, const Deadline& deadline = Deadline::None()) {
  const auto result = std::make_shared<std::promise<Result<std::string>>>();
  secret.Get(deadline, [result](Result<Secret::Held> held) {
    if (!held) return result->set_value(tl::unexpected<Error>(held.error()));
    result->set_value(**held);
  });
  return result->get_future().get();
}

// Numbers its secrets, each of which lives as long as the test says.
class Source {
 public:
  explicit Source(std::optional<seconds> lifetime) : lifetime_(lifetime) {}

  Secret::Fetch fetch() {
    return [this](const Deadline& deadline) -> Result<Secret::Fetched> {
      const int number = ++fetches_;
      if (held_) opened_.wait();
      if (auto in_time = deadline.Check("fetching"); !in_time) {
        return tl::unexpected<Error>(in_time.error());
      }
      if (fails_) return Fail(ErrorCode::kUnavailable, "failure " + std::to_string(number));
      Secret::Fetched fetched{std::to_string(number), std::nullopt};
      if (lifetime_) fetched.expires = SecretClock::now() + *lifetime_;
      return fetched;
    };
  }
  void Hold() { held_ = true; }
  void Release() { open_.set_value(); }
  void FailFromNow() { fails_ = true; }
  [[nodiscard]] int fetches() const { return fetches_; }

 private:
  const std::optional<seconds> lifetime_;
  std::atomic<int> fetches_{0};
  std::atomic<bool> held_{false}, fails_{false};
  std::promise<void> open_;
  const std::shared_future<void> opened_{open_.get_future()};
};

TEST(RenewedSecretTest, OneFetchServesAllWhoAskMeanwhileAndLater) {
  Source source(hours(1));
  source.Hold();
  Secret secret(source.fetch());
  std::vector<std::future<Result<std::string>>> asking;
  for (int i = 0; i < 8; ++i) asking.push_back(std::async([&] { return Get(secret); }));
  EXPECT_FALSE(secret.Current());
  source.Release();
  for (auto& each : asking) EXPECT_EQ(each.get().value(), "1");
  EXPECT_EQ(Get(secret).value(), "1");
  EXPECT_EQ(*secret.Current(), "1");
  EXPECT_EQ(source.fetches(), 1);
}

TEST(RenewedSecretTest, AFetchThatThrowsHasFailed) {
  Secret secret([](const Deadline&) -> Result<Secret::Fetched> { throw std::bad_alloc(); });
  const auto got = Get(secret);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kResourceExhausted);
}

// The renewal's own thread runs already: the thread of the fetch cannot be started.
TEST(RenewedSecretTest, AFetchWithoutAThreadHasFailed) {
  Source source(hours(1));
  RenewalTimes times;
  times.failure_kept = milliseconds(0);
  Secret secret(source.fetch(), times);
  ASSERT_EQ(Get(secret).value(), "1");
  secret.Refuse(secret.Current());
  {
    const NoMoreThreads none;
    EXPECT_FALSE(Get(secret));
  }
  EXPECT_EQ(Get(secret).value(), "2");
}

TEST(RenewedSecretTest, ADeadlineEndsAWaitWhileTheFetchGoesOn) {
  Source source(hours(1));
  source.Hold();
  Secret secret(source.fetch());
  const auto late = Get(secret, {std::chrono::steady_clock::now() + milliseconds(5), {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().system_errno, ETIMEDOUT);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Get(secret, {Deadline::None().at, stop.get_token()}).error().system_errno, EINTR);
  source.Release();
  EXPECT_EQ(Get(secret).value(), "1");
}

TEST(RenewedSecretTest, WhatExpiresSoonIsUsedWhileAnotherIsFetched) {
  Source source(seconds(60));
  RenewalTimes times;
  times.early = seconds(120);
  times.early_part = 1;
  Secret secret(source.fetch(), times);
  EXPECT_EQ(Get(secret).value(), "1");
  EXPECT_EQ(Get(secret).value(), "1") << "fetches the second, and does not wait for it";
  while (*secret.Current() == "1") std::this_thread::yield();
  EXPECT_GE(source.fetches(), 2);
}

TEST(RenewedSecretTest, WhatLivesShortlyIsNotFetchedWithEachRequest) {
  Source source(seconds(120));
  Secret secret(source.fetch());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Get(secret).value(), "1");
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(source.fetches(), 1);
}

// The clock of this machine may be hours ahead: the service judges.
TEST(RenewedSecretTest, WhatSeemsToHaveExpiredIsUsedUntilItIsRefused) {
  Source source(-hours(3));
  RenewalTimes times;
  times.failure_kept = milliseconds(0);
  Secret secret(source.fetch(), times);
  EXPECT_EQ(Get(secret).value(), "1");
  EXPECT_EQ(Get(secret).value(), "1");
  EXPECT_EQ(source.fetches(), 1);
  secret.Refuse(secret.Current());
  const auto refused = Get(secret);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(Get(secret).value(), "3") << "a refusal is not remembered for ever";
  times.doubtful_kept = seconds(0);
  Source other(-hours(3));
  Secret brief(other.fetch(), times);
  EXPECT_EQ(Get(brief).value(), "1");
  EXPECT_EQ(Get(brief).value(), "2");
}

TEST(RenewedSecretTest, ARefusedSecretIsFetchedAgainOnce) {
  Source source(std::nullopt);
  Secret secret(source.fetch());
  Get(secret);
  const auto first = secret.Current();
  secret.Refuse(first);
  EXPECT_FALSE(secret.Current());
  EXPECT_EQ(Get(secret).value(), "2");
  secret.Refuse(first);
  EXPECT_EQ(Get(secret).value(), "2") << "the first one is gone already";
}

TEST(RenewedSecretTest, AFailureIsKeptForAWhile) {
  Source source(hours(1));
  source.FailFromNow();
  RenewalTimes times;
  times.failure_kept = std::chrono::hours(1);
  Secret secret(source.fetch(), times);
  EXPECT_EQ(Get(secret).error().message, "failure 1");
  EXPECT_EQ(Get(secret).error().message, "failure 1");
  EXPECT_EQ(source.fetches(), 1);
}

TEST(RenewedSecretTest, ItsEndEndsTheFetchAndTheWaits) {
  auto secret = std::make_unique<Secret>([](const Deadline& deadline) -> Result<Secret::Fetched> {
    while (deadline.Check("fetching")) std::this_thread::yield();
    return Fail(ErrorCode::kUnavailable, "stopped");
  });
  std::promise<ErrorCode> ended;
  secret->Get(Deadline::None(),
              [&](Result<Secret::Held> held) { ended.set_value(held.error().code); });
  secret.reset();
  EXPECT_EQ(ended.get_future().get(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace unshard
