#include "store/http/curl_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

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

}  // namespace
}  // namespace unshard
