#include "store/gcs/object_requests.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

constexpr const char* kUrl = "https://host/storage/v1/b/bucket/o/a%20b/c/d";

std::string Field(const HttpHeaders& headers, std::string_view name) {
  return std::string(FindHeader(headers, name).value_or("none"));
}

HttpRequest Made(HttpHeaders headers) {
  HttpRequest request;
  request.url = kUrl;
  request.headers = std::move(headers);
  return MakeObjectRequest(std::move(request), 42);
}

TEST(GcsObjectRequestsTest, AnObjectIsOneSegmentOfThePath) {
  EXPECT_EQ(Made({}).url, "https://host/storage/v1/b/bucket/o/a%20b%2Fc%2Fd?alt=media&unshard=42");
  HttpRequest in_a_path;
  in_a_path.url = "https://host/o/base/storage/v1/b/bucket/o/a/b";
  EXPECT_EQ(MakeObjectRequest(in_a_path, 1).url,
            "https://host/o/base/storage/v1/b/bucket/o/a%2Fb?alt=media&unshard=1");
}

TEST(GcsObjectRequestsTest, ConditionsAreOnGenerations) {
  const auto read = Made({{"Range", "bytes=0-9"}, {"if-match", "\"1795489928503656\""}});
  EXPECT_TRUE(read.url.ends_with("&unshard=42&ifGenerationMatch=1795489928503656")) << read.url;
  EXPECT_EQ(Field(read.headers, "If-Match"), "none");
  EXPECT_EQ(Field(read.headers, "Range"), "bytes=0-9");
  const auto refresh = Made({{"If-None-Match", "\"7\""}, {"If-Modified-Since", "yesterday"}});
  EXPECT_TRUE(refresh.url.ends_with("&ifGenerationNotMatch=7")) << refresh.url;
  EXPECT_EQ(Field(refresh.headers, "If-None-Match"), "none");
  EXPECT_EQ(Field(refresh.headers, "If-Modified-Since"), "none");
}

TEST(GcsObjectRequestsTest, OtherTagsStayTags) {
  for (const char* tag : {"\"md5\"", "\"\"", "7", "\"7&alt=json\"", "\"123456789012345678901\""}) {
    const auto read = Made({{"If-Match", tag}});
    EXPECT_TRUE(read.url.ends_with("&unshard=42")) << read.url;
    EXPECT_EQ(Field(read.headers, "If-Match"), tag);
  }
}

TEST(GcsObjectRequestsTest, CompressedObjectsAreRequestedAsTheyAreStored) {
  const auto request = Made({{"accept-encoding", "identity"}});
  EXPECT_EQ(Field(request.headers, "Accept-Encoding"), "gzip");
  EXPECT_EQ(request.headers.size(), 1u);
}

TEST(GcsObjectRequestsTest, TheGenerationIsTheTag) {
  HttpResponse response;
  response.status = 206;
  response.headers = {{"Etag", "\"md5\""}, {"X-Goog-Generation", "12"}};
  const auto read = ReadObjectResponse(response, GcsAccess::kListed);
  EXPECT_EQ(Field(read->headers, "ETag"), "\"12\"");
  response.headers[1].value = "12\"";
  EXPECT_EQ(Field(ReadObjectResponse(response, GcsAccess::kListed)->headers, "ETag"), "\"md5\"");
}

TEST(GcsObjectRequestsTest, DeniedIsMissingWhereTheServiceDoesNotTellThemApart) {
  for (const int status : {401, 403}) {
    HttpResponse response;
    response.status = status;
    const std::string_view text = R"({"error": {"message": "someone may\nnot"}})";
    response.body.assign(text.begin(), text.end());
    EXPECT_EQ(ReadObjectResponse(response, GcsAccess::kUnlisted)->status, 404);
    const auto denied = ReadObjectResponse(response, GcsAccess::kListed);
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(denied.error().message.find("someone may\\x0anot"), std::string::npos)
        << denied.error().message;
  }
}

TEST(GcsObjectRequestsTest, TooManyRequestsAreNoMissingObject) {
  HttpResponse response;
  response.status = 403;
  const std::string_view text =
      R"({"error": {"message": "slower", "errors": [{"reason": "rateLimitExceeded"}]}})";
  response.body.assign(text.begin(), text.end());
  EXPECT_FALSE(ReadObjectResponse(response, GcsAccess::kUnlisted));
}

}  // namespace
}  // namespace unshard
