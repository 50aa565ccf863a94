#include "store/s3/endpoint.h"

#include <gtest/gtest.h>

#include <map>

namespace unshard {
namespace {

using Variables = std::map<std::string, std::string>;

Environment Of(const Variables& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

std::string UrlOf(const std::string& bucket, const Variables& variables,
                  const AwsProfile& profile = {}, bool allow_http = false) {
  S3Settings settings = ReadS3Settings(Of(variables), profile);
  settings.allow_http = allow_http;
  const auto endpoint = MakeS3Endpoint(bucket, settings);
  return endpoint ? endpoint->bucket.Request() + ' ' + endpoint->region : endpoint.error().message;
}

TEST(S3UrlTest, NamesABucketAndAPrefix) {
  const auto url = ParseS3Url("s3://my-bucket/a/b c/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->bucket, "my-bucket");
  EXPECT_EQ(url->prefix, "a/b c");
  EXPECT_EQ(ParseS3Url("S3://my.bucket")->bucket, "my.bucket");
  EXPECT_EQ(ParseS3Url("s3://bucket/")->prefix, "");
}

TEST(S3UrlTest, RefusesWhatNamesNone) {
  for (const char* url : {"s3://", "s3:///key", "s3://ab", "s3://a..b/key", "s3://bu cket", "s3",
                          "s3://-bucket", "s3://bücket", "https://bucket/key"}) {
    EXPECT_FALSE(ParseS3Url(url)) << url;
  }
  for (const char* url :
       {"s3://id:secret@bucket/key", "s3://bucket/key?secret", "s3://bucket#secret"}) {
    const auto parsed = ParseS3Url(url);
    ASSERT_FALSE(parsed) << url;
    EXPECT_EQ(parsed.error().message.find("secret"), std::string::npos) << url;
  }
}

TEST(S3EndpointTest, IsTheHostOfTheBucketInItsRegion) {
  EXPECT_EQ(UrlOf("bucket", {}), "https://bucket.s3.us-east-1.amazonaws.com us-east-1");
  EXPECT_EQ(UrlOf("bucket", {{"AWS_REGION", "eu-west-3"}, {"AWS_DEFAULT_REGION", "us-west-1"}}),
            "https://bucket.s3.eu-west-3.amazonaws.com eu-west-3");
  EXPECT_EQ(UrlOf("bucket", {{"AWS_DEFAULT_REGION", "cn-north-1"}}),
            "https://bucket.s3.cn-north-1.amazonaws.com.cn cn-north-1");
  EXPECT_EQ(UrlOf("bucket", {}, {{"region", "eu-west-1"}}),
            "https://bucket.s3.eu-west-1.amazonaws.com eu-west-1");
}

TEST(S3EndpointTest, IsAPathWhereNoCertificateCoversTheHost) {
  EXPECT_EQ(UrlOf("a.b", {}), "https://s3.us-east-1.amazonaws.com/a.b us-east-1");
  EXPECT_EQ(UrlOf("A_b", {}), "https://s3.us-east-1.amazonaws.com/A_b us-east-1");
}

TEST(S3EndpointTest, IsAPathOfAnotherEndpointUnlessAskedFor) {
  const Variables both{{"AWS_ENDPOINT_URL", "https://general.org"},
                       {"AWS_ENDPOINT_URL_S3", "https://s3.org:9000/base/"}};
  EXPECT_EQ(UrlOf("bucket", both), "https://s3.org:9000/base/bucket us-east-1");
  EXPECT_EQ(UrlOf("bucket", {{"AWS_ENDPOINT_URL", "https://general.org"}},
                  {{"endpoint_url", "https://p.org"}}),
            "https://general.org/bucket us-east-1");
  EXPECT_EQ(UrlOf("bucket", {}, {{"endpoint_url", "https://p.org"}, {"region", "auto"}}),
            "https://p.org/bucket auto");
  EXPECT_EQ(
      UrlOf("bucket", {}, {{"endpoint_url", "https://p.org"}, {"s3.addressing_style", "virtual"}}),
      "https://bucket.p.org us-east-1");
}

TEST(S3EndpointTest, IsHttpOnThisMachineOnlyUnlessAllowed) {
  for (const char* url : {"http://127.0.0.1:9000", "http://localhost", "http://[::1]:9000"}) {
    EXPECT_EQ(UrlOf("bucket", {{"AWS_ENDPOINT_URL", url}}), std::string(url) + "/bucket us-east-1");
  }
  for (const char* url :
       {"http://example.org", "http://127.0.0.1.example.org", "http://example.com:8080"}) {
    const Variables variables{{"AWS_ENDPOINT_URL", url}};
    EXPECT_NE(UrlOf("bucket", variables).find("allow_http"), std::string::npos) << url;
    EXPECT_EQ(UrlOf("bucket", variables, {}, true), std::string(url) + "/bucket us-east-1");
  }
}

TEST(S3EndpointTest, RefusesWhatIsNoEndpointAndNoRegion) {
  for (const char* url : {"ftp://a", "nothing", "https://id:secret@a", "https://a?secret"}) {
    const std::string message = UrlOf("bucket", {{"AWS_ENDPOINT_URL", url}});
    EXPECT_NE(message.find("the endpoint of S3"), std::string::npos) << url;
    EXPECT_EQ(message.find("secret"), std::string::npos) << url;
  }
  EXPECT_NE(UrlOf("bucket", {{"AWS_REGION", "x.evil.org/"}}).find("not a region"),
            std::string::npos);
}

TEST(S3SettingsTest, SwitchesAreReadFromTheEnvironment) {
  const S3Settings none = ReadS3Settings(Of({}), {});
  EXPECT_FALSE(none.anonymous || none.requester_pays || none.allow_http);
  EXPECT_TRUE(ReadS3Settings(Of({{"AWS_NO_SIGN_REQUEST", "YES"}}), {}).anonymous);
  EXPECT_TRUE(ReadS3Settings(Of({{"AWS_REQUEST_PAYER", "requester"}}), {}).requester_pays);
}

}  // namespace
}  // namespace unshard
