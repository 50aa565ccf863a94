#include "store/s3/s3_authorization.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <ctime>
#include <future>
#include <memory>

namespace unshard {
namespace {

using Secret = RenewedSecret<AwsCredentials>;

// A bucket of AWS whose credentials are numbered.
class S3AuthorizationTest : public testing::Test {
 protected:
  static S3Endpoint Endpoint(const S3Settings& settings) {
    return MakeS3Endpoint("bucket", settings).value_or(S3Endpoint{});
  }
  std::unique_ptr<Secret> Numbered() {
    return std::make_unique<Secret>([this](const Deadline&) -> Result<Secret::Fetched> {
      return Secret::Fetched{{"KEY" + std::to_string(++fetches_), "SECRET", "TOKEN"}, std::nullopt};
    });
  }
  // As it is sent now.
  HttpRequest Sent(const std::string& url = "https://bucket.s3.us-east-1.amazonaws.com/key") {
    HttpRequest request;
    request.url = url;
    const auto sent = std::make_shared<std::promise<Result<HttpRequest>>>();
    authorization_.Authorize(std::move(request), [sent](Result<HttpRequest> authorized) {
      sent->set_value(std::move(authorized));
    });
    return sent->get_future().get().value_or(HttpRequest{});
  }
  static std::string Field(const HttpRequest& request, std::string_view name) {
    return std::string(FindHeader(request.headers, name).value_or(""));
  }
  static HttpResponse Answer(int status, const std::string& code, const std::string& more = "",
                             HttpHeaders headers = {}) {
    const std::string body =
        code.empty() ? "" : "<Error><Code>" + code + "</Code>" + more + "</Error>";
    const ByteSpan bytes = AsBytes(std::string_view(body));
    return {status, std::move(headers), ByteVector(bytes.begin(), bytes.end())};
  }
  Error ErrorOf(int status, const std::string& code) {
    const auto error = authorization_.ErrorOf({}, Answer(status, code));
    return error.value_or(Error{ErrorCode::kInternal, "none", 0});
  }

  int fetches_ = 0;
  S3Authorization authorization_{"bucket", S3Settings{}, Endpoint(S3Settings{}), Numbered()};
};

TEST_F(S3AuthorizationTest, CoversTheBucketOnly) {
  HttpRequest request;
  for (const char* url : {"https://bucket.s3.us-east-1.amazonaws.com/key",
                          "https://bucket.s3.us-east-1.amazonaws.com",
                          "https://bucket.s3.us-east-1.amazonaws.com?list-type=2"}) {
    request.url = url;
    EXPECT_TRUE(authorization_.Covers(request)) << url;
  }
  for (const char* url : {"https://bucket.s3.us-east-1.amazonaws.com.evil.org/key",
                          "http://bucket.s3.us-east-1.amazonaws.com/key",
                          "https://bucket.s3.us-east-1.amazonaws.com:8443/key",
                          "https://other.s3.us-east-1.amazonaws.com/key"}) {
    request.url = url;
    EXPECT_FALSE(authorization_.Covers(request)) << url;
  }
}

TEST_F(S3AuthorizationTest, ARegionThatTheServiceNamesIsUsedFromThenOn) {
  const HttpRequest first = Sent();
  const HttpHeaders region{{"x-amz-bucket-region", "eu-west-3"}};
  EXPECT_TRUE(authorization_.Renew(first, Answer(301, "PermanentRedirect", "", region)));
  const HttpRequest again = Sent();
  EXPECT_EQ(again.url, "https://bucket.s3.eu-west-3.amazonaws.com/key");
  EXPECT_NE(Field(again, "Authorization").find("/eu-west-3/s3/"), std::string::npos);
  EXPECT_TRUE(authorization_.Renew(first, Answer(301, "PermanentRedirect", "", region)))
      << "it was sent before the region was known";
  EXPECT_FALSE(authorization_.Renew(again, Answer(301, "PermanentRedirect", "", region)));
  EXPECT_TRUE(authorization_.Renew(
      again, Answer(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")));
  EXPECT_EQ(Sent().url, "https://bucket.s3.eu-west-1.amazonaws.com/key");
}

TEST(S3PathStyleTest, ARegionIsLearnedByAllWhoWereSentBefore) {
  std::promise<HttpRequest> signed_request;  // outlives the thread that sets it
  S3Settings settings;
  settings.endpoint_url = "https://example.org";
  S3Authorization authorization(
      "bucket", settings, *MakeS3Endpoint("bucket", settings),
      std::make_unique<Secret>([](const Deadline&) -> Result<Secret::Fetched> {
        return Secret::Fetched{{"KEY", "SECRET", ""}, std::nullopt};
      }));
  HttpRequest request;
  request.url = "https://example.org/bucket/key";
  authorization.Authorize(request, [&](Result<HttpRequest> authorized) {
    signed_request.set_value(*std::move(authorized));
  });
  const HttpRequest sent = signed_request.get_future().get();
  HttpResponse malformed{400, {{"x-amz-bucket-region", "auto"}}, {}};
  const std::string_view body = "<Error><Code>AuthorizationHeaderMalformed</Code></Error>";
  malformed.body.assign(body.begin(), body.end());
  EXPECT_TRUE(authorization.Renew(sent, malformed));
  EXPECT_TRUE(authorization.Renew(sent, malformed)) << "two requests at once";
}

TEST_F(S3AuthorizationTest, ARegionIsNoWayToAnotherHost) {
  for (const char* region : {"x.evil.org/", "evil.org#", "", "a b"}) {
    const HttpHeaders field{{"x-amz-bucket-region", region}};
    EXPECT_FALSE(authorization_.Renew(Sent(), Answer(301, "PermanentRedirect", "", field)));
    EXPECT_EQ(Sent().url, "https://bucket.s3.us-east-1.amazonaws.com/key");
  }
}

TEST_F(S3AuthorizationTest, ARedirectIsAnErrorThatNamesTheRegion) {
  const HttpHeaders headers{{"Location", "https://evil.org/"},
                            {"x-amz-bucket-region", "eu-west-3"}};
  const auto error = authorization_.ErrorOf(Sent(), Answer(307, "", "", headers));
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("eu-west-3"), std::string::npos);
  EXPECT_EQ(error->message.find("evil"), std::string::npos);
}

TEST_F(S3AuthorizationTest, ExpiredCredentialsAreFetchedAgainOnce) {
  const HttpRequest first = Sent();
  EXPECT_NE(Field(first, "Authorization").find("KEY1/"), std::string::npos);
  EXPECT_TRUE(authorization_.Renew(first, Answer(400, "ExpiredToken")));
  EXPECT_NE(Field(Sent(), "Authorization").find("KEY2/"), std::string::npos);
  EXPECT_TRUE(authorization_.Renew(first, Answer(400, "ExpiredToken")))
      << "another request of that time is sent again";
  EXPECT_NE(Field(Sent(), "Authorization").find("KEY2/"), std::string::npos);
  EXPECT_EQ(fetches_, 2);
}

TEST_F(S3AuthorizationTest, TheClockOfTheServiceIsUsedOnceItDiffers) {
  const HttpHeaders date{{"Date", "Fri, 24 May 2013 00:00:00 GMT"}};
  EXPECT_TRUE(authorization_.Renew(Sent(), Answer(403, "RequestTimeTooSkewed", "", date)));
  EXPECT_TRUE(Field(Sent(), "X-Amz-Date").starts_with("20130524T00"));
  EXPECT_FALSE(authorization_.Renew(Sent(), Answer(403, "RequestTimeTooSkewed", "", date)));
  EXPECT_FALSE(authorization_.Renew(Sent(), Answer(403, "RequestTimeTooSkewed")));
}

TEST_F(S3AuthorizationTest, WhatTheBodySaysDecides) {
  EXPECT_FALSE(authorization_.ErrorOf({}, Answer(404, "NoSuchKey")));
  EXPECT_FALSE(authorization_.ErrorOf({}, Answer(404, "")));
  for (const int status : {200, 206, 304, 412, 416, 429, 500, 503}) {
    EXPECT_FALSE(authorization_.ErrorOf({}, Answer(status, "AccessDenied"))) << status;
  }
  HttpRequest listing;
  listing.url = "https://bucket.s3.us-east-1.amazonaws.com/?list-type=2&prefix=a";
  const auto error = authorization_.ErrorOf(listing, Answer(200, "InternalError"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->system_errno, 0) << "is retried";
  EXPECT_FALSE(authorization_.ErrorOf(listing, Answer(200, "")));
  EXPECT_EQ(ErrorOf(404, "NoSuchBucket").code, ErrorCode::kUnavailable);
  EXPECT_EQ(ErrorOf(404, "NoSuchBucket").system_errno, EPROTO) << "is not retried";
  EXPECT_EQ(ErrorOf(404, "XAdminUserNotFound").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ErrorOf(403, "InvalidAccessKeyId").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ErrorOf(403, "AccessDenied").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ErrorOf(400, "ExpiredToken").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ErrorOf(400, "InvalidArgument").system_errno, EPROTO);
  EXPECT_EQ(ErrorOf(400, "RequestTimeout").system_errno, 0) << "is retried";
}

TEST(S3AnonymousTest, NothingIsSigned) {
  S3Settings settings;
  settings.endpoint_url = "https://example.org";
  S3Authorization authorization("bucket", settings, *MakeS3Endpoint("bucket", settings), nullptr);
  HttpRequest request;
  request.url = "https://example.org/bucket/key";
  bool sent = false;
  authorization.Authorize(request, [&](const Result<HttpRequest>& authorized) {
    sent = authorized && authorized->headers.empty();
  });
  EXPECT_TRUE(sent);
  EXPECT_FALSE(authorization.Renew(request, {400, {}, {}}));
}

}  // namespace
}  // namespace unshard
