#include "store/dataset/source.h"

#include <gtest/gtest.h>

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
