#include "store/http/url.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(UrlTest, PartsOfAUrl) {
  const auto url = ParseHttpUrl("HTTPS://user:p%40ss@Example.org:443/a%20b/c?sig=x&y#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->origin, "https://example.org");
  EXPECT_EQ(url->path, "/a%20b/c");
  EXPECT_EQ(url->query, "sig=x&y");
  EXPECT_EQ(url->user_info, "user:p@ss");
  EXPECT_EQ(url->Request(), "https://example.org/a%20b/c?sig=x&y");
  EXPECT_EQ(url->Described(), "https://example.org/a%20b/c");
  EXPECT_TRUE(url->is_https());
  EXPECT_EQ(ParseHttpUrl("http://[::1]:8080")->Request(), "http://[::1]:8080/");
  EXPECT_EQ(ParseHttpUrl("http://h:443/")->origin, "http://h:443");
}

TEST(UrlTest, WhatIsNoUrlIsNotRepeatedInTheError) {
  for (const char* text : {"", "secret", "secret.org/path", "/secret", "file:///secret",
                           "ftp://secret/", "http://", "s3://secret/key", "http://se cret:x/"}) {
    const auto url = ParseHttpUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos);
  }
}

TEST(UrlTest, ReferencesAreResolved) {
  const auto base = ParseHttpUrl("https://user:pw@host/a/b?query");
  ASSERT_TRUE(base);
  EXPECT_EQ(ResolveHttpUrl(*base, "c")->Request(), "https://host/a/c");
  EXPECT_EQ(ResolveHttpUrl(*base, "/c?d")->Request(), "https://host/c?d");
  EXPECT_EQ(ResolveHttpUrl(*base, "//other/c")->Request(), "https://other/c");
  EXPECT_EQ(ResolveHttpUrl(*base, "http://me:too@other/c")->user_info, "");
  EXPECT_FALSE(ResolveHttpUrl(*base, "file:///etc/passwd"));
  EXPECT_FALSE(ResolveHttpUrl(*base, std::string("/a\0b", 4)));
}

TEST(UrlTest, KeysAreEscapedByteByByte) {
  EXPECT_EQ(EscapeKey("0/c/1-2_3~4.5"), "0/c/1-2_3~4.5");
  EXPECT_EQ(EscapeKey("a b?c#d%2F+\xc3\xa9"), "a%20b%3Fc%23d%252F%2B%C3%A9");
  EXPECT_EQ(EscapeQueryValue("a/b=&+"), "a%2Fb%3D%26%2B");
}

}  // namespace
}  // namespace unshard
