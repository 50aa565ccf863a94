#include "store/source/source.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace unshard {
namespace {

TEST(SourceNames, AUrlHasASchemeAndADirectoryHasNone) {
  EXPECT_TRUE(IsUrl("https://host/path"));
  EXPECT_TRUE(IsUrl("HTTP://host"));
  EXPECT_TRUE(IsUrl("s3+x.y-z://bucket"));
  EXPECT_FALSE(IsUrl("/data/segmentation"));
  EXPECT_FALSE(IsUrl("./https://host"));
  EXPECT_FALSE(IsUrl("://host"));
  EXPECT_FALSE(IsUrl("3d://host"));
  EXPECT_FALSE(IsUrl("a b://host"));
  EXPECT_FALSE(IsUrl("https:/host"));
}

TEST(SourceNames, WhatMayBeSecretIsNotShown) {
  EXPECT_EQ(ShownUrl("https://user:pa@ss@host:8080/a/b?token=secret#part"),
            "https://host:8080/a/b");
  EXPECT_EQ(ShownUrl("https://user@host"), "https://host");
  EXPECT_EQ(ShownUrl("https://host/user@example/a"), "https://host/user@example/a");
  EXPECT_EQ(ShownUrl("https://host?X-Signature=1/2@3"), "https://host");
  EXPECT_EQ(ShownUrl("http://host/"), "http://host");
  EXPECT_EQ(ShownUrl("http://host/a//"), "http://host/a");
}

TEST(SourceNames, AUrlIsReadOnlyWhereItsStoreIs) {
  VolumeOptions options;
  ASSERT_TRUE(NameUrl("https://me:word@host/a?key=1", options));
  EXPECT_EQ(options.source, "https://host/a");
  EXPECT_EQ(options.url, "https://me:word@host/a?key=1");
  EXPECT_TRUE(options.read_only);
}

TEST(SourceNames, BucketsCanBeWritten) {
  for (const char* url : {"s3://bucket/a", "gs://bucket/a"}) {
    VolumeOptions options;
    ASSERT_TRUE(NameUrl(url, options));
    EXPECT_FALSE(options.read_only) << url;
  }
}

// The spool of one endpoint is never published to another.
TEST(SourceNames, ABucketIsWhereItsEndpointIs) {
  const auto place = [](const std::string& url) -> std::string {
    VolumeOptions options;
    EXPECT_TRUE(NameUrl(url, options));
    const auto identity = IdentifyVolume(options);
    return identity ? identity->url : identity.error().message;
  };
  ::unsetenv("STORAGE_EMULATOR_HOST");
  EXPECT_EQ(place("gs://bucket/a/"), "gs://bucket/a");
  ::setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:4443", 1);
  EXPECT_EQ(place("gs://bucket/a"), "http://127.0.0.1:4443/bucket/a");
  ::unsetenv("STORAGE_EMULATOR_HOST");
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:7070", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  EXPECT_EQ(place("s3://bucket/a"), "http://127.0.0.1:7070/bucket/a");
  ::unsetenv("AWS_ENDPOINT_URL");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(place("s3://bucket/a"), "s3://bucket/a");
}

TEST(SourceNames, SpoolsBelongToThePlaceThatAUrlLeadsTo) {
  SourceIdentity one, other;
  one.url = "http://127.0.0.1:7070/bucket/a";
  other.url = "http://127.0.0.1:7071/bucket/a";
  EXPECT_TRUE(IsSameSource(one, one));
  EXPECT_FALSE(IsSameSource(one, other));
  EXPECT_FALSE(IsSameSource(one, SourceIdentity{}));
  EXPECT_FALSE(IsMovedSource(SourceIdentity{}, one));
}

TEST(SourceNames, AnUnknownSchemeIsAnsweredWithThoseThatExist) {
  VolumeOptions options;
  const Status named = NameUrl("ftp://key:secret@host/path", options);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(named.error().message.find("https://"), std::string::npos) << named.error().message;
  EXPECT_NE(named.error().message.find("directory"), std::string::npos) << named.error().message;
  EXPECT_EQ(named.error().message.find("secret"), std::string::npos) << named.error().message;
}

}  // namespace
}  // namespace unshard
