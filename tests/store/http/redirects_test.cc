#include "store/http/redirects.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace unshard {
namespace {

HttpResponse RedirectTo(const std::string& location, int status = 302) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Location", location}};
  return response;
}

HttpRequest Request(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.headers = {{"Range", "bytes=0-1"},
                     {"If-Match", "\"x\""},
                     {"Authorization", "secret"},
                     {"Cookie", "secret"},
                     {"x-amz-security-token", "secret"},
                     {"X-Goog-User-Project", "secret"},
                     {"X-Mine", "secret"}};
  return request;
}

bool HasSecret(const HttpRequest& request) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [](const HttpHeader& header) { return header.value == "secret"; });
}

TEST(RedirectsTest, WhatIsARedirect) {
  for (const int status : {301, 302, 303, 307, 308}) {
    EXPECT_TRUE(IsRedirect(RedirectTo("/x", status))) << status;
  }
  for (const int status : {200, 300, 304, 305, 404}) {
    EXPECT_FALSE(IsRedirect(RedirectTo("/x", status))) << status;
  }
  EXPECT_FALSE(IsRedirect(HttpResponse{302, {}, {}, false}));
}

TEST(RedirectsTest, TheSameOriginGetsEverything) {
  for (const char* location : {"/other", "https://host:443/other", "//host/other"}) {
    const auto next = Redirect(Request("https://host/path?q"), RedirectTo(location), 1);
    ASSERT_TRUE(next) << location;
    EXPECT_EQ(next->url, "https://host/other");
    EXPECT_TRUE(HasSecret(*next));
  }
}

TEST(RedirectsTest, AnotherOriginGetsNoSecrets) {
  for (const char* location : {"https://other/x", "https://host:444/x", "https://host.evil/x",
                               "https://host@evil/x", "//evil/x"}) {
    const auto next = Redirect(Request("https://host/path"), RedirectTo(location), 1);
    ASSERT_TRUE(next) << location;
    EXPECT_FALSE(HasSecret(*next)) << location;
    EXPECT_EQ(FindHeader(next->headers, "Range"), "bytes=0-1");
    EXPECT_EQ(FindHeader(next->headers, "If-Match"), "\"x\"");
  }
  const auto upgraded = Redirect(Request("http://host/path"), RedirectTo("https://host/path"), 1);
  ASSERT_TRUE(upgraded);
  EXPECT_FALSE(HasSecret(*upgraded)) << "another scheme is another origin";
}

TEST(RedirectsTest, WhatIsNotFollowed) {
  EXPECT_FALSE(Redirect(Request("https://host/"), RedirectTo("http://host/"), 1));
  EXPECT_FALSE(Redirect(Request("http://host/"), RedirectTo("file:///etc/passwd"), 1));
  EXPECT_FALSE(Redirect(Request("http://host/"), RedirectTo("ftp://host/"), 1));
  EXPECT_TRUE(Redirect(Request("http://host/"), RedirectTo("/a"), kMaxRedirects));
  EXPECT_FALSE(Redirect(Request("http://host/"), RedirectTo("/a"), kMaxRedirects + 1));
}

TEST(RedirectsTest, DirectoriesAreToldByTheSlash) {
  const HttpRequest request = Request("https://host/a/b?q");
  EXPECT_TRUE(IsRedirectToDirectory(request, RedirectTo("/a/b/", 301)));
  EXPECT_TRUE(IsRedirectToDirectory(request, RedirectTo("http://inner:8080/a/b/?q", 301)));
  EXPECT_FALSE(IsRedirectToDirectory(request, RedirectTo("/a/b", 301)));
  EXPECT_FALSE(IsRedirectToDirectory(request, RedirectTo("/a/", 301)));
}

}  // namespace
}  // namespace unshard
