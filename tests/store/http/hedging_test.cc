#include "store/http/hedging.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/http/latencies.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST(LatenciesTest, TheyAreThoseOfNineteenInTwentyOfTheLatestAnswers) {
  Latencies latencies;
  for (int i = 0; i < 63; ++i) latencies.Note(milliseconds(20));
  EXPECT_EQ(latencies.Percentile95(milliseconds(7)), milliseconds(7)) << "too few to tell";
  for (int i = 0; i < 37; ++i) latencies.Note(i < 4 ? milliseconds(5000) : milliseconds(20));
  const auto most = latencies.Percentile95(milliseconds(7));
  EXPECT_GE(most, milliseconds(20));
  EXPECT_LE(most, milliseconds(24));
  for (int i = 0; i < 5000; ++i) latencies.Note(milliseconds(300));
  const auto slower = latencies.Percentile95(milliseconds(7));
  EXPECT_GE(slower, milliseconds(300));
  EXPECT_LE(slower, milliseconds(360));
  for (int i = 0; i < 5000; ++i) latencies.Note(std::chrono::hours(i % 2));
  EXPECT_GE(latencies.Percentile95(milliseconds(7)), std::chrono::seconds(30)) << "beyond the last";
}

// A transport that the test answers for.
class ManualTransport final : public HttpTransport {
 public:
  struct Sent {
    HttpRequest request;
    Done done;
  };
  void Start(HttpRequest request, Done done) override {
    sent.push_back({std::move(request), std::move(done)});
  }
  std::vector<Sent> sent;
};

class HedgingTest : public testing::Test {
 protected:
  HedgingTest() { Begin({.first_delay = milliseconds(0), .least_delay = milliseconds(0)}); }

  void Begin(const HedgingOptions& options) {
    transport_ = std::make_shared<ManualTransport>();
    hedging_ = WithHedging(transport_, options);
  }
  static HttpRequest Range(std::uint64_t size) {
    HttpRequest request;
    request.url = "http://host/key";
    request.headers = {{"Range", "bytes=0-" + std::to_string(size - 1)}};
    request.max_other_body = size;
    return request;
  }
  // Sends one; answers_ gets its answer.
  void Start(HttpRequest request = Range(1000)) {
    hedging_->Start(std::move(request), [this](Result<HttpResponse> answer) {
      answers_.push_back(answer ? answer->status : -answer.error().system_errno);
    });
  }
  void Answer(std::size_t which, int status) {
    HttpResponse response;
    response.status = status;
    transport_->sent.at(which).done(std::move(response));
  }
  void FailOne(std::size_t which, int number) {
    transport_->sent.at(which).done(FailWith(number, ErrorCode::kUnavailable, "no answer"));
  }
  bool IsStopped(std::size_t which) {
    return transport_->sent.at(which).request.deadline.stop.stop_requested();
  }

  std::shared_ptr<ManualTransport> transport_;
  std::shared_ptr<HttpTransport> hedging_;
  std::vector<int> answers_;
};

TEST_F(HedgingTest, TheFirstAnswerEndsBoth) {
  Start();
  ASSERT_EQ(transport_->sent.size(), 2u);
  EXPECT_EQ(transport_->sent[1].request.url, "http://host/key");
  Answer(1, 206);
  EXPECT_EQ(answers_, (std::vector<int>{206}));
  EXPECT_TRUE(IsStopped(0));
  FailOne(0, EINTR);
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(HedgingTest, TheSecondWaitsUntilTheFirstIsLate) {
  Begin({.first_delay = milliseconds(3000)});
  const auto before = Clock::now();
  Start();
  ASSERT_EQ(transport_->sent.size(), 2u);
  EXPECT_LE(transport_->sent[0].request.not_before, before);
  EXPECT_GE(transport_->sent[1].request.not_before, before + milliseconds(3000));
  FailOne(0, 0);
  EXPECT_EQ(answers_, (std::vector<int>{0})) << "the second has not been sent";
  EXPECT_TRUE(IsStopped(1));
}

TEST_F(HedgingTest, AnErrorWaitsForTheOtherAnswer) {
  Start();
  Answer(0, 503);
  EXPECT_TRUE(answers_.empty());
  Answer(1, 206);
  EXPECT_EQ(answers_, (std::vector<int>{206}));
}

TEST_F(HedgingTest, TwoErrorsAreOne) {
  Start();
  FailOne(1, ECONNRESET);
  Answer(0, 503);
  EXPECT_EQ(answers_, (std::vector<int>{503}));
}

TEST_F(HedgingTest, TheCallerEndsBoth) {
  std::stop_source caller;
  HttpRequest request = Range(10);
  request.deadline.stop = caller.get_token();
  Start(request);
  caller.request_stop();
  EXPECT_TRUE(IsStopped(0));
  EXPECT_TRUE(IsStopped(1));
  FailOne(0, EINTR);
  FailOne(1, EINTR);
  EXPECT_EQ(answers_, (std::vector<int>{-EINTR}));
}

TEST_F(HedgingTest, LargeRangesAndWholeObjectsHaveNoSecond) {
  Start(Range(std::uint64_t{1} << 20));
  HttpRequest whole = Range(10);
  whole.headers.clear();
  Start(whole);
  EXPECT_EQ(transport_->sent.size(), 2u);
}

TEST_F(HedgingTest, OneInTwentyIsSentTwice) {
  for (int i = 0; i < 400; ++i) {
    const std::size_t at = transport_->sent.size();
    Start();
    Answer(transport_->sent.size() - 1, 206);  // all are late
    if (transport_->sent.size() == at + 2) FailOne(at, EINTR);
  }
  EXPECT_GE(transport_->sent.size(), 415u);
  EXPECT_LE(transport_->sent.size(), 421u);
  EXPECT_EQ(answers_.size(), 400u);
}

TEST_F(HedgingTest, SecondsThatAreNotSentAreNotCounted) {
  Begin({.first_delay = milliseconds(3000)});
  for (int i = 0; i < 40; ++i) {
    Start();
    Answer(transport_->sent.size() - 2, 206);
  }
  EXPECT_EQ(transport_->sent.size(), 80u);
}

}  // namespace
}  // namespace unshard
