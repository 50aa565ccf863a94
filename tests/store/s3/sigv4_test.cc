#include "store/s3/sigv4.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "store/http/bodies.h"

namespace unshard {
namespace {

constexpr std::time_t kDocumented = 1369353600;  // 2013-05-24T00:00:00Z
constexpr std::time_t kNow = 1795489200;         // 2026-11-24T03:00:00Z
const AwsCredentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                              ""};

std::string Field(const HttpRequest& request, std::string_view name) {
  return std::string(FindHeader(request.headers, name).value_or(""));
}

// The field Authorization from the names of the signed fields on.
std::string Signed(const std::string& url, HttpHeaders headers, const AwsCredentials& credentials,
                   const std::string& region, std::time_t now) {
  HttpRequest request;
  request.url = url;
  request.headers = std::move(headers);
  const auto signed_request = SignRequest(std::move(request), credentials, {region, "s3"}, now);
  EXPECT_TRUE(signed_request);
  const std::string field = Field(*signed_request, "Authorization");
  return field.substr(field.find("SignedHeaders=") + 14);
}

// The examples of "Authenticating Requests: Using the Authorization Header" in the S3 reference.
TEST(SigV4Test, SignsAsTheDocumentationDoes) {
  const std::string host = "https://examplebucket.s3.amazonaws.com";
  const std::string fields = "host;x-amz-content-sha256;x-amz-date,Signature=";
  EXPECT_EQ(
      Signed(host + "/test.txt", {{"Range", "bytes=0-9"}}, kExample, "us-east-1", kDocumented),
      "host;range;x-amz-content-sha256;x-amz-date,Signature="
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(Signed(host + "/?lifecycle", {}, kExample, "us-east-1", kDocumented),
            fields + "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(Signed(host + "/?max-keys=2&prefix=J", {}, kExample, "us-east-1", kDocumented),
            fields + "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// What botocore 1.44.5 computes.
TEST(SigV4Test, SignsPortsEscapesTokensAndQueriesAsBotocoreDoes) {
  AwsCredentials credentials{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  EXPECT_EQ(Signed("http://127.0.0.1:9000/bucket/a%20b/%C3%A9%2Bc~d",
                   {{"Range", "bytes=-16"}, {"If-Match", "\"e t  a\""}, {"User-Agent", "unshard"}},
                   credentials, "eu-central-1", kNow),
            "host;if-match;range;x-amz-content-sha256;x-amz-date,Signature="
            "30ab324deddaafd238d1a76fc746e848d7a427b3c6a72cff240ae50d68af8120");
  credentials.session_token = "TOKEN/+=";
  EXPECT_EQ(Signed("https://bucket.s3.eu-central-1.amazonaws.com/?list-type=2&delimiter=%2F&prefix="
                   "a%20b%2F&max-keys=1000&continuation-token=x%2By%3D",
                   {}, credentials, "eu-central-1", kNow),
            "host;x-amz-content-sha256;x-amz-date;x-amz-security-token,Signature="
            "31379ba42a3276a76f0010cfe9f511e1412611d8f84beadfdc9f6780e7522a1e");
}

TEST(SigV4Test, SigningAgainReplacesWhatWasSigned) {
  HttpRequest request;
  request.url = "https://bucket.s3.amazonaws.com/key";
  const auto once = SignRequest(request, {"id", "secret", "token"}, {"us-east-1"}, kDocumented);
  const auto again = SignRequest(*once, kExample, {"us-east-1"}, kNow);
  const auto fresh = SignRequest(request, kExample, {"us-east-1"}, kNow);
  EXPECT_EQ(Field(*again, "Authorization"), Field(*fresh, "Authorization"));
  EXPECT_EQ(Field(*again, "X-Amz-Security-Token"), "");
  EXPECT_EQ(again->headers.size(), fresh->headers.size());
}

TEST(SigV4Test, NeitherFieldsNorMessagesHoldTheSecret) {
  HttpRequest request;
  request.url = "https://bucket.s3.amazonaws.com/key";
  const auto signed_request = SignRequest(request, kExample, {"us-east-1"}, kNow);
  for (const HttpHeader& header : signed_request->headers) {
    EXPECT_EQ(header.value.find(kExample.secret_access_key), std::string::npos);
  }
  request.url = "nothing";
  EXPECT_EQ(SignRequest(request, kExample, {"us-east-1"}, kNow).error().code,
            ErrorCode::kInvalidArgument);
}

// The digest of a body that is streamed is the caller's; that of another body never is.
TEST(SigV4Test, AnAnnouncedDigestIsSignedWhereTheBodyIsStreamed) {
  const auto digest = [](std::shared_ptr<const HttpBody> streamed) {
    HttpRequest request;
    request.method = HttpRequest::Method::kPut;
    request.url = "https://bucket.s3.us-east-1.amazonaws.com/key";
    request.headers = {{"X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"}};
    request.streamed = std::move(streamed);
    const auto signed_request =
        SignRequest(std::move(request), {"id", "secret", ""}, {"us-east-1"}, 0);
    return std::string(*FindHeader(signed_request->headers, "X-Amz-Content-Sha256"));
  };
  EXPECT_EQ(digest(BodyOf("body")), "UNSIGNED-PAYLOAD");
  EXPECT_NE(digest(nullptr), "UNSIGNED-PAYLOAD");
}

}  // namespace
}  // namespace unshard
