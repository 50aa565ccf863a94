// Ceph's gateway, whose manners are its own: see tests/servers/radosgw. Run by store.radosgw.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "store/s3/answers.h"
#include "store/s3/s3_replacer.h"
#include "store/s3/s3_store.h"
#include "tests/support/s3_server.h"

namespace unshard {
namespace {

using Outcome = Committed::Outcome;

constexpr const char* kKey = "a/0.shard";
constexpr std::size_t kMiB = std::size_t{1} << 20;

class RadosgwTest : public testing::Test {
 protected:
  static Radosgw& Server() {
    static Radosgw server;
    return server;
  }
  static FaultProxy& Proxy() {
    static FaultProxy proxy(Server().http());
    return proxy;
  }
  void SetUp() override {
    if (std::getenv("UNSHARD_RADOSGW") == nullptr) GTEST_SKIP() << "see store.radosgw";
    if (Server().is_missing()) GTEST_SKIP() << "Ceph is not installed";
    directory_ = testing::UnitTest::GetInstance()->current_test_info()->name();
    S3Options options;
    options.environment = Server().ClientEnvironment(Proxy().http());
    options.remote.least_delay = std::chrono::milliseconds(10);
    options.remote.parts_above = 6 * kMiB;
    options.remote.part_bytes = 5 * kMiB;
    options.remote.copies_from = 5 * kMiB;
    Proxy().Break("");
    auto store = OpenS3Store("s3://bucket/" + directory_, options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
    const Status can = store_.replacer->CanReplace(kKey);
    ASSERT_TRUE(can) << can.error().message;
  }
  void ExpectCommit(const std::string& text) {
    auto replacement = store_.replacer->Begin({kKey, std::nullopt}, {});
    ASSERT_TRUE(replacement) << replacement.error().message;
    EXPECT_FALSE(*(*replacement)->StartFromBase());
    ASSERT_TRUE((*replacement)->Write(0, AsBytes(text)));
    const auto committed = (*replacement)->Commit([]() -> Status { return {}; });
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kCommitted) << committed->reason.message;
    const auto whole = ReadWhole(*store_.objects, kKey, std::uint64_t{1} << 30, Deadline::None());
    ASSERT_TRUE(whole && *whole);
    EXPECT_TRUE((*whole)->text == text);
  }

  std::string directory_;
  S3Store store_;
};

// It ignores the condition with which an upload is completed.
TEST_F(RadosgwTest, NothingIsPublishedInParts) {
  ExpectCommit(std::string(7 * kMiB, 'a'));
  Proxy().TakeRequests();
  ExpectCommit(std::string(8 * kMiB, 'b'));
  std::size_t puts = 0;
  for (const std::string& line : Proxy().TakeRequests()) {
    EXPECT_FALSE(line.starts_with("POST ")) << line;
    puts += line.starts_with("PUT ") ? 1u : 0u;
  }
  EXPECT_EQ(puts, 1u);
}

TEST_F(RadosgwTest, WhatBecameOfAPutIsFoundOut) {
  for (const char* fault :
       {"lose", "instead 500", "instead 412", "status 500", "status 503", "drop", "upload 3"}) {
    SCOPED_TRACE(fault);
    Proxy().Break(std::string("on PUT;") + fault + '\n');
    ExpectCommit(std::string("put in spite of ") + fault);
  }
}

TEST_F(RadosgwTest, NothingIsRemovedSinceItIgnoresTheConditionOfRemovals) {
  ExpectCommit("base");
  const auto replacement = store_.replacer->Begin({kKey, std::nullopt}, {});
  const auto removed = (*replacement)->Remove([]() -> Status { return {}; });
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ErrorCode::kNotSupported);
}

TEST_F(RadosgwTest, MetadataSurvives) {
  const std::string path = "/bucket/" + directory_ + '/' + kKey;
  const HttpHeaders metadata = {{"Content-Type", "image/png"},
                                {"Cache-Control", "public, max-age=7"},
                                {"x-amz-meta-a", "1"},
                                {"x-amz-meta-a-b", "2"}};
  Server().Ask(HttpRequest::Method::kPut, path, "base", metadata);
  for (const char* text : {"first", "second"}) ExpectCommit(text);
  const HttpResponse now = Server().Ask(HttpRequest::Method::kGet, path);
  for (const HttpHeader& field : metadata) {
    EXPECT_EQ(FindHeader(now.headers, field.name), field.value) << field.name;
  }
}

// A dataset that everybody may read stays so.
TEST_F(RadosgwTest, AccessControlListsSurvive) {
  const std::string path = "/bucket/" + directory_ + '/' + kKey;
  Server().Ask(HttpRequest::Method::kPut, path, "base", {{"x-amz-acl", "public-read"}});
  const auto grants = [&] {
    const HttpResponse answer = Server().Ask(HttpRequest::Method::kGet, path + "?acl=");
    return ParseS3Grants(AsText(answer.body));
  };
  const auto before = grants();
  ASSERT_TRUE(before && FindHeader(*before, "x-amz-grant-read"));
  // The first of these is of a version that no put of ours has made: its list is asked for.
  Proxy().Break("on GET;status 503\n");
  for (const char* text : {"first", "second"}) ExpectCommit(text);
  const auto after = grants();
  ASSERT_TRUE(after);
  for (const HttpHeader& grant : *before) {
    EXPECT_EQ(FindHeader(*after, grant.name), grant.value) << grant.name;
  }
}

}  // namespace
}  // namespace unshard
