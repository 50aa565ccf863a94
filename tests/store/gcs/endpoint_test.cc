#include "store/gcs/endpoint.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(GcsEndpointTest, UrlsNameABucketAndAPrefix) {
  const auto location = ParseGcsUrl("gs://a-bucket.example_1/a b/%2F/c//");
  ASSERT_TRUE(location) << location.error().message;
  EXPECT_EQ(location->bucket, "a-bucket.example_1");
  EXPECT_EQ(location->prefix, "a b/%2F/c");
  EXPECT_EQ(location->Describe("d/e"), "gs://a-bucket.example_1/a b/%2F/c/d/e");
  for (const char* whole : {"gs://bucket", "gs://bucket/"}) {
    EXPECT_EQ(ParseGcsUrl(whole)->prefix, "");
    EXPECT_EQ(ParseGcsUrl(whole)->Describe(""), "gs://bucket");
    EXPECT_EQ(ParseGcsUrl(whole)->Describe("key"), "gs://bucket/key");
  }
}

TEST(GcsEndpointTest, WhatIsNoUrlOfAnObjectIsRefused) {
  for (const char* url : {"", "gs://", "gs:///key", "s3://bucket/key", "gs://ab", "gs://Bucket/key",
                          "gs://-bucket/key", "gs://buc ket/key", "gs://bucket/a/../b",
                          "gs://bucket//key", "gs://bucket:80/key"}) {
    const auto location = ParseGcsUrl(url);
    ASSERT_FALSE(location) << url;
    EXPECT_EQ(location.error().code, ErrorCode::kInvalidArgument) << url;
  }
  for (const char* url :
       {"gs://bucket/key?secret", "gs://bucket/key#secret", "gs://secret@bucket"}) {
    const auto location = ParseGcsUrl(url);
    ASSERT_FALSE(location) << url;
    EXPECT_EQ(location.error().message.find("secret"), std::string::npos) << url;
  }
}

TEST(GcsEndpointTest, TheEnvironmentNamesTheEndpoint) {
  const auto service = MakeGcsEndpoint("", "");
  EXPECT_EQ(service->base.Request(), "https://storage.googleapis.com");
  EXPECT_FALSE(service->is_emulator);
  for (const char* host : {"localhost:4443", "http://localhost:4443", "http://LOCALHOST:4443/"}) {
    const auto emulator = MakeGcsEndpoint(host, "https://unused.example");
    ASSERT_TRUE(emulator) << host;
    EXPECT_EQ(emulator->base.Request(), "http://localhost:4443") << host;
    EXPECT_TRUE(emulator->is_emulator);
  }
  EXPECT_EQ(MakeGcsEndpoint("https://emulator.example/path/", "")->base.Request(),
            "https://emulator.example/path");
  const auto other = MakeGcsEndpoint("", "https://storage-private.p.googleapis.com/");
  EXPECT_EQ(other->base.Request(), "https://storage-private.p.googleapis.com");
  EXPECT_FALSE(other->is_emulator);
  EXPECT_TRUE(MakeGcsEndpoint("", "http://127.0.0.1:4443"));
  EXPECT_TRUE(MakeGcsEndpoint("", "http://[::1]:4443"));
}

TEST(GcsEndpointTest, CredentialsAreNotSentOverPlainHttp) {
  for (const char* url : {"http://storage.example", "http://127.0.0.1.example.org",
                          "http://localhost.example.org", "http://[::2]"}) {
    const auto endpoint = MakeGcsEndpoint("", url);
    ASSERT_FALSE(endpoint) << url;
    EXPECT_NE(endpoint.error().message.find("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"),
              std::string::npos);
  }
  for (const char* url : {"ftp://host", "https://user:secret@host", "https://host/?secret"}) {
    const auto endpoint = MakeGcsEndpoint(url, "");
    ASSERT_FALSE(endpoint) << url;
    EXPECT_NE(endpoint.error().message.find("STORAGE_EMULATOR_HOST"), std::string::npos);
    EXPECT_EQ(endpoint.error().message.find("secret"), std::string::npos);
  }
}

TEST(GcsEndpointTest, UrlsOfObjectsAndListings) {
  const GcsEndpoint endpoint = *MakeGcsEndpoint("http://host/base", "");
  const GcsLocation location = *ParseGcsUrl("gs://bucket/a b/c");
  EXPECT_EQ(GcsObjectsBase(endpoint, location).Request(),
            "http://host/base/storage/v1/b/bucket/o/a%20b/c");
  EXPECT_EQ(GcsObjectsBase(endpoint, *ParseGcsUrl("gs://bucket")).Request(),
            "http://host/base/storage/v1/b/bucket/o");
  EXPECT_EQ(GcsListUrl(endpoint, location, "d&e", "to/ken=", 7),
            "http://host/base/storage/v1/b/bucket/"
            "o?delimiter=%2F&fields=prefixes,items(name),nextPageToken&maxResults=7&prefix="
            "a%20b%2Fc%2Fd%26e%2F&pageToken=to%2Fken%3D");
  EXPECT_TRUE(GcsListUrl(endpoint, *ParseGcsUrl("gs://bucket"), "", "", 7).ends_with("&prefix="));
}

}  // namespace
}  // namespace unshard
