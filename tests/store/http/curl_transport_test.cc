#include "store/http/curl_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "store/object/awaited_result.h"
#include "tests/support/http_servers.h"

namespace unshard {
namespace {

// A server that never answers anything.
class CurlTransportTest : public testing::Test {
 protected:
  void SetUp() override {
    proxy_.Break("stall\nstall\nstall\nstall\n");
    ASSERT_FALSE(proxy_.http().empty());
  }
  HttpRequest Request() {
    HttpRequest request;
    request.url = proxy_.http() + "/";
    return request;
  }

  FaultProxy proxy_{"http://127.0.0.1:9"};
};

TEST_F(CurlTransportTest, ItsEndEndsAllRequestsOnce) {
  auto transport = MakeCurlTransport({});
  std::atomic<int> ended{0};
  std::atomic<int> unavailable{0};
  const auto done = [&](const Result<HttpResponse>& response) {
    ++ended;
    if (!response && response.error().code == ErrorCode::kUnavailable) ++unavailable;
  };
  for (int i = 0; i < 3; ++i) transport->Start(Request(), done);
  HttpRequest later = Request();
  later.not_before = std::chrono::steady_clock::now() + std::chrono::hours(1);
  transport->Start(std::move(later), done);
  transport.reset();
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(unavailable, 4);
}

TEST_F(CurlTransportTest, MayEndInACallback) {
  auto transport = MakeCurlTransport({});
  std::promise<void> ended;
  HttpRequest request = Request();
  request.deadline.at = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  transport->Start(std::move(request), [&](const Result<HttpResponse>&) {
    transport.reset();
    ended.set_value();
  });
  ended.get_future().wait();
  EXPECT_FALSE(transport);
}

TEST_F(CurlTransportTest, AnExceptionEndsNoProcess) {
  const auto transport = MakeCurlTransport({});
  std::promise<void> thrown;
  HttpRequest request = Request();
  request.deadline.at = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  transport->Start(request, [&](const Result<HttpResponse>&) {
    thrown.set_value();
    throw std::bad_alloc();
  });
  thrown.get_future().wait();
  // Who waits for what the callback would have called is told when the callback goes.
  const auto outcome = std::make_shared<AwaitedResult<int>>();
  transport->Start(std::move(request),
                   [done = AwaitedResult<int>::Callback(outcome)](const Result<HttpResponse>&) {
                     throw std::runtime_error("thrown");
                   });
  const auto result = outcome->Wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInternal);
}

// Each at its own time, whatever the order in which they were started.
TEST_F(CurlTransportTest, RequestsEndAtTheirOwnDeadlines) {
  std::atomic<int> late{0};
  {
    const auto transport = MakeCurlTransport({});
    const auto start = [&](std::chrono::milliseconds after, auto done) {
      HttpRequest request = Request();
      const auto at = request.deadline.at = std::chrono::steady_clock::now() + after;
      transport->Start(std::move(request), [at, done](const Result<HttpResponse>& response) {
        EXPECT_FALSE(response);
        done(response ? 0 : response.error().system_errno, std::chrono::steady_clock::now() >= at);
      });
    };
    std::promise<void> first, last;
    const auto is_in_time = [](int number, bool reached) {
      EXPECT_EQ(number, ETIMEDOUT);
      EXPECT_TRUE(reached);
    };
    start(std::chrono::hours(1), [&](int, bool) { ++late; });
    start(std::chrono::milliseconds(100), [&](int number, bool reached) {
      is_in_time(number, reached);
      last.set_value();
    });
    start(std::chrono::milliseconds(10), [&](int number, bool reached) {
      is_in_time(number, reached);
      first.set_value();
    });
    first.get_future().wait();
    last.get_future().wait();
    EXPECT_EQ(late, 0);
  }
  EXPECT_EQ(late, 1) << "with the transport";
}

TEST_F(CurlTransportTest, AStopEndsNoOtherRequest) {
  const auto transport = MakeCurlTransport({});
  for (const bool sent : {true, false}) {
    proxy_.Break(sent ? "stall\nstatus 404\n" : "status 404\n");
    std::stop_source stop;
    std::promise<int> stopped;
    HttpRequest request = Request();
    request.deadline.stop = stop.get_token();
    if (!sent) request.not_before = std::chrono::steady_clock::now() + std::chrono::hours(1);
    transport->Start(std::move(request), [&](const Result<HttpResponse>& response) {
      stopped.set_value(response ? 0 : response.error().system_errno);
    });
    while (sent && proxy_.TakeRequests().empty()) std::this_thread::yield();
    std::promise<int> other;
    transport->Start(Request(), [&](const Result<HttpResponse>& response) {
      other.set_value(response ? response->status : 0);
    });
    EXPECT_EQ(other.get_future().get(), 404);
    stop.request_stop();
    EXPECT_EQ(stopped.get_future().get(), EINTR);
  }
}

TEST_F(CurlTransportTest, WhatIsStoppedBeforeIsNotSent) {
  const auto transport = MakeCurlTransport({});
  std::stop_source stop;
  stop.request_stop();
  HttpRequest request = Request();
  request.deadline.stop = stop.get_token();
  const auto response = Send(*transport, std::move(request));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().system_errno, EINTR);
  EXPECT_TRUE(proxy_.TakeRequests().empty());
}

TEST_F(CurlTransportTest, NoRequestIsSentBeforeItsTime) {
  const auto transport = MakeCurlTransport({});
  proxy_.Break("status 404\nstatus 200;field Content-Length 0\n");
  const auto status = [&](HttpRequest request) {
    const auto response = Send(*transport, std::move(request));
    return response ? response->status : 0;
  };
  HttpRequest never = Request();
  never.not_before = std::chrono::steady_clock::now() + std::chrono::hours(1);
  transport->Start(std::move(never), [](const Result<HttpResponse>&) {});
  EXPECT_EQ(status(Request()), 404) << "it does not wait for the other one";
  HttpRequest later = Request();
  const auto at = later.not_before =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(status(std::move(later)), 200);
  EXPECT_GE(std::chrono::steady_clock::now(), at);
}

TEST_F(CurlTransportTest, ARequestMayStartAnother) {
  const auto transport = MakeCurlTransport({});
  std::promise<int> status;
  proxy_.Break("status 503\nstatus 404\n");
  HttpRequest second = Request();
  transport->Start(Request(), [&](const Result<HttpResponse>& first) {
    EXPECT_TRUE(first && first->status == 503);
    transport->Start(std::move(second), [&](const Result<HttpResponse>& response) {
      status.set_value(response ? response->status : 0);
    });
  });
  EXPECT_EQ(status.get_future().get(), 404);
}

TEST_F(CurlTransportTest, OneRequestAtATimeWhereOneConnectionIsAllowed) {
  CurlOptions options;
  options.connections_per_host = 1;
  const auto transport = MakeCurlTransport(options);
  proxy_.Break("status 404\nstatus 404\nstatus 404\n");
  std::atomic<int> found{0};
  std::promise<void> all;
  for (int i = 0; i < 3; ++i) {
    transport->Start(Request(), [&](const Result<HttpResponse>& response) {
      EXPECT_TRUE(response && response->status == 404);
      if (++found == 3) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_EQ(proxy_.TakeRequests().size(), 3u);
}

// libcurl repeats a request when a kept connection ends before the answer begins.
TEST_F(CurlTransportTest, WhatIsSentOnceIsNotRepeatedOverAKeptConnection) {
  const auto transport = MakeCurlTransport({});
  for (const bool once : {false, true}) {
    proxy_.Break("status 404\ndrop\nstatus 200\n");
    ASSERT_EQ(Send(*transport, Request())->status, 404);
    HttpRequest put = Request();
    put.method = HttpRequest::Method::kPut;
    put.once = once;
    put.body = "body";
    put.max_whole_body = 100;
    const auto response = Send(*transport, std::move(put));
    std::size_t puts = 0;
    for (const std::string& line : proxy_.TakeRequests())
      puts += line.starts_with("PUT ") ? 1u : 0u;
    EXPECT_EQ(puts, once ? 1u : 2u);
    EXPECT_EQ(response.has_value(), !once);
  }
}

TEST_F(CurlTransportTest, WithoutAConnectionNothingWasSent) {
  const auto transport = MakeCurlTransport({});
  HttpRequest put = Request();
  put.url = "http://127.0.0.1:9/";
  put.method = HttpRequest::Method::kPut;
  const auto response = Send(*transport, std::move(put));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(response.error().system_errno, ECONNREFUSED);
}

// A body that is read while it is sent, and a failure to read it.
TEST_F(CurlTransportTest, StreamedBodiesAreSentWholeOrNotAtAll) {
  class Counted final : public HttpBody {
   public:
    explicit Counted(std::uint64_t fails_at) : fails_at_(fails_at) {}
    std::uint64_t size() const override { return std::uint64_t{3} << 20; }
    Result<std::size_t> Read(std::uint64_t at, std::span<std::uint8_t> to) const override {
      if (at >= fails_at_) return Fail(ErrorCode::kDataLoss, "cannot be read");
      const auto count = std::min<std::uint64_t>(to.size(), size() - at);
      std::fill_n(to.begin(), count, std::uint8_t{'x'});
      most_ = std::max<std::size_t>(most_, to.size());
      return static_cast<std::size_t>(count);
    }
    [[nodiscard]] std::size_t most() const { return most_; }

   private:
    const std::uint64_t fails_at_;
    mutable std::size_t most_ = 0;
  };
  const auto transport = MakeCurlTransport({});
  for (const bool fails : {false, true}) {
    proxy_.Break("status 404\n");
    const auto body = std::make_shared<Counted>(fails ? std::uint64_t{2} << 20 : ~std::uint64_t{0});
    HttpRequest put = Request();
    put.method = HttpRequest::Method::kPut;
    put.streamed = body;
    const auto response = Send(*transport, std::move(put));
    EXPECT_LE(body->most(), std::size_t{1} << 20) << "held in memory";
    if (fails) {
      ASSERT_FALSE(response);
      EXPECT_EQ(response.error().code, ErrorCode::kDataLoss);
    } else {
      ASSERT_TRUE(response) << response.error().message;
      EXPECT_EQ(response->status, 404);
    }
  }
}

TEST_F(CurlTransportTest, AHeadHasNoBodyAndARemovalHasNone) {
  const auto transport = MakeCurlTransport({});
  for (const auto method : {HttpRequest::Method::kHead, HttpRequest::Method::kDelete}) {
    proxy_.Break("status 200;field Content-Length 0\n");
    HttpRequest request = Request();
    request.method = method;
    const auto response = Send(*transport, std::move(request));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_FALSE(response->body_too_large);
    EXPECT_TRUE(proxy_.TakeRequests()[0].starts_with(MethodName(method)));
  }
}

}  // namespace
}  // namespace unshard
