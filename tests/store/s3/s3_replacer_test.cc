// Replacing objects of a real S3 server, through a proxy that loses, cuts and repeats.
#include "store/s3/s3_replacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "store/s3/answers.h"
#include "store/s3/s3_store.h"
#include "tests/support/replacer_test.h"
#include "tests/support/s3_server.h"

namespace unshard {
namespace {

using Method = HttpRequest::Method;

// More than there are attempts of one request, each of which libcurl may send several times.
constexpr int kMostSendings = 64;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

class S3ReplacerTest : public ReplacerTest {
 protected:
  static Versitygw& Server() {
    static Versitygw server;
    return server;
  }
  FaultProxy& Proxy() const override {
    static FaultProxy proxy(Server().http());
    return proxy;
  }
  std::shared_ptr<ObjectStore> OpenBesides() const override {
    S3Options options = options_;
    options.environment = Server().ClientEnvironment();
    return OpenS3Store("s3://bucket/" + directory_, options)->objects;
  }

  void SetUp() override {
    if (!HasVersitygw()) GTEST_SKIP() << "versitygw is missing: see tests/run";
    Proxy().Break("");
    options_.environment = Server().ClientEnvironment(Proxy().http());
    options_.remote.least_delay = options_.remote.most_delay = std::chrono::milliseconds(1);
    Open();
  }
  void Open() { Use(OpenS3Store("s3://bucket/" + directory_, options_)); }
  [[nodiscard]] std::string Path() const { return "/bucket/" + directory_ + '/' + kKey; }
  void Put(std::string_view text) { Server().Put(directory_ + '/' + kKey, text); }

  S3Options options_;
};

TEST_F(S3ReplacerTest, AnObjectThatIsReplacedWholeCostsAHeadAndAPut) {
  for (const char* text : {"first", "second", ""}) {
    const auto committed = Commit(text);
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kCommitted);
    EXPECT_EQ(Methods(), (Requests{"HEAD", "PUT"}));
    EXPECT_EQ(Text(), text);
  }
}

TEST_F(S3ReplacerTest, ALostAnswerIsFoundByTheMarkOfTheAttempt) {
  for (const bool missing : {true, false}) {
    Proxy().Break("on PUT;lose\n");
    ExpectCommit(missing ? "first" : "second");
    Requests methods = Methods();
    std::erase(methods, "GET");  // of the access control list, which no put has told
    ASSERT_GE(methods.size(), 3u);
    EXPECT_EQ(Requests(methods.begin(), methods.begin() + 3), (Requests{"HEAD", "PUT", "HEAD"}));
    EXPECT_EQ(std::count(methods.begin(), methods.end(), "PUT"), 1);
  }
}

TEST_F(S3ReplacerTest, AnErrorAfterTheFactIsASuccess) {
  for (const char* status : {"500", "503", "429", "412", "409", "404"}) {
    Proxy().Break(std::string("on PUT;instead ") + status + '\n');
    ExpectCommit(std::string("put in spite of ") + status);
    const Requests methods = Methods();
    EXPECT_EQ(std::count(methods.begin(), methods.end(), "PUT"), 1) << status;
  }
}

TEST_F(S3ReplacerTest, WhatNeverArrivedIsSentAgain) {
  for (const char* fault : {"status 500", "status 503", "status 429", "drop", "upload 3",
                            "status 503;field Retry-After 0"}) {
    Put("base");
    Proxy().Break(std::string("on PUT;") + fault + '\n');
    ExpectCommit(std::string("put in spite of ") + fault);
    const Requests methods = Methods();
    EXPECT_EQ(std::count(methods.begin(), methods.end(), "PUT"), 2) << fault;
  }
}

TEST_F(S3ReplacerTest, ASuccessWithAnErrorInItsBodyIsNone) {
  Put("base");
  Proxy().Break(
      "on PUT;status 200;body <Error><Code>InternalError</Code></Error>;field Content-Length\n");
  ExpectCommit("ours");
}

TEST_F(S3ReplacerTest, AVersionOfAnotherWriterIsNeverReplaced) {
  for (const char* fault : {"pass", "lose", "instead 500"}) {
    Put("base");
    const auto replacement = Begin();
    ASSERT_TRUE(replacement->Write(0, AsBytes("ours")));
    Put("theirs");
    Proxy().Break(std::string("on PUT;") + fault + '\n');
    const auto committed = replacement->Commit([]() -> Status { return {}; });
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kConditionFailed);
    EXPECT_EQ(Text(), "theirs");
  }
}

// A PUT that its client has given up, and that arrives after another writer has come.
TEST_F(S3ReplacerTest, ALateDuplicateReplacesNothing) {
  Put("base");
  Proxy().Break("on PUT;again 0.2\n");
  ExpectCommit("ours");
  Put("theirs, later");
  for (bool again = false; !again;) {
    for (const std::string& line : Proxy().TakeRequests()) {
      again = again || line.starts_with("again PUT");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Text(), "theirs, later");
}

TEST_F(S3ReplacerTest, WhereNothingCanBeLookedAtTheOutcomeIsUnknown) {
  // Enough for a busy server to answer what comes before.
  options_.http.request_timeout = std::chrono::seconds(2);
  options_.remote.tries = 2;
  Open();
  Put("base");
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes("ours")));
  std::string faults = "on PUT;lose\n";
  for (int i = 0; i < 200; ++i) faults += "on HEAD;drop\n";
  Proxy().Break(faults);
  const auto committed = replacement->Commit([]() -> Status { return {}; });
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->outcome, Outcome::kUnknown);
  EXPECT_EQ(committed->reason.code, ErrorCode::kUnavailable);
  Proxy().Break("");
  // A busy server applies the PUT later than its client has given it up.
  std::vector<std::string> attempts;
  for (int i = 0; i < 1000 && attempts.empty(); ++i) {
    const auto found = store_.replacer->Attempts(kKey);
    if (found) attempts = *found;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(attempts, std::vector<std::string>{replacement->attempt()});
}

TEST_F(S3ReplacerTest, WhatIsRefusedForGoodIsSaidInTheWordsOfTheService) {
  struct Case {
    const char* answer;
    ErrorCode code;
    int number;
    const char* words;
  };
  for (const Case& each :
       {Case{"status 507", ErrorCode::kResourceExhausted, ENOSPC, "507"},
        Case{"status 403;body <Error><Code>QuotaExceeded</Code><Message>all gone</Message></Error>;"
             "field Content-Length",
             ErrorCode::kResourceExhausted, EDQUOT, "all gone"},
        Case{"status 403;body <Error><Code>AccessDenied</Code><Message>not you</Message></Error>;"
             "field Content-Length",
             ErrorCode::kPermissionDenied, 0, "not you"},
        Case{"status 404;body <Error><Code>NoSuchBucket</Code></Error>;field Content-Length",
             ErrorCode::kUnavailable, EPROTO, "NoSuchBucket"},
        Case{"status 400;body <Error><Code>EntityTooLarge</Code></Error>;field Content-Length",
             ErrorCode::kUnavailable, EPROTO, "EntityTooLarge"},
        Case{"status 501", ErrorCode::kNotSupported, 0, "501"}}) {
    SCOPED_TRACE(each.answer);
    Put("base");
    Proxy().Break(std::string("on PUT;") + each.answer + '\n');
    const auto committed = Commit("ours");
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, each.code);
    EXPECT_EQ(committed.error().system_errno, each.number);
    EXPECT_NE(committed.error().message.find(each.words), std::string::npos)
        << committed.error().message;
    EXPECT_NE(committed.error().message.find(kKey), std::string::npos);
    EXPECT_EQ(committed.error().message.find("unshard-tests-secret"), std::string::npos);
    EXPECT_EQ(Text(), "base");
  }
}

TEST_F(S3ReplacerTest, MetadataSurvives) {
  const HttpHeaders metadata = {
      {"Content-Type", "image/png"},     {"Cache-Control", "public, max-age=7"},
      {"Content-Disposition", "inline"}, {"Content-Language", "de"},
      {"x-amz-meta-owner", "somebody"},  {"x-amz-meta-a", "1"},
      {"x-amz-meta-a-b", "2"},           {"x-amz-tagging", "project=brains"}};
  Server().Ask(Method::kPut, Path(), "base", metadata);
  for (const char* text : {"first", "second"}) ExpectCommit(text);
  const HttpResponse now = Server().Ask(Method::kGet, Path());
  for (const HttpHeader& field : metadata) {
    if (field.name == "x-amz-tagging") continue;
    EXPECT_EQ(FindHeader(now.headers, field.name), field.value) << field.name;
  }
  const auto tags = Server().Ask(Method::kGet, Path() + "?tagging=");
  EXPECT_NE(AsText(tags.body).find("brains"), std::string_view::npos) << AsText(tags.body);
}

// An object that is put without its access control list or its tags loses them.
TEST_F(S3ReplacerTest, NothingIsPutWhileWhatAnObjectKeepsCannotBeRead) {
  Server().Ask(Method::kPut, Path(), "base", {{"x-amz-tagging", "project=a"}});
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes("ours")));
  for (const char* fault : {"status 503", "drop"}) {
    SCOPED_TRACE(fault);
    std::string faults;
    for (int i = 0; i < kMostSendings; ++i) faults += std::string("on GET;") + fault + '\n';
    Proxy().Break(faults);
    Proxy().TakeRequests();
    bool noted = false;
    const auto committed = replacement->Commit([&]() -> Status {
      noted = true;
      return {};
    });
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(committed.error().message.find("?acl="), std::string::npos)
        << committed.error().message;
    EXPECT_FALSE(noted) << "no put is under way";
    const Requests methods = Methods();
    EXPECT_EQ(std::count(methods.begin(), methods.end(), "PUT"), 0);
    Proxy().Break(faults);
    const auto begun = store_.replacer->Begin({kKey, std::nullopt}, {});
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(begun.error().message.find("?tagging="), std::string::npos) << begun.error().message;
    EXPECT_EQ(Text(), "base");
  }
  Proxy().Break("");
  ExpectCommit("ours");
  const HttpResponse tags = Server().Ask(Method::kGet, Path() + "?tagging=");
  EXPECT_EQ(ParseS3Tags(AsText(tags.body)), "project=a");
}

// Objects are put even if the service has no access control lists, or does not show them.
TEST_F(S3ReplacerTest, AListThatTheServiceDoesNotShowKeepsNothingFromBeingPut) {
  int number = 0;
  for (const char* status : {"403", "501", "400", "405"}) {
    SCOPED_TRACE(status);
    Put("base " + std::to_string(++number));
    Proxy().Break(std::string("on GET;status ") + status + '\n');
    const auto committed = Commit("ours");
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kCommitted);
  }
}

// A HEAD is refused without a word: a GET says that the credentials have expired.
TEST_F(S3ReplacerTest, CredentialsThatExpireAreRenewedWhereOnlyHeadsAreSent) {
  for (const char* status : {"400", "403"}) {
    Put("base");
    Proxy().Break(std::string("on HEAD;status ") + status + "\non GET;status " + status +
                  ";body <Error><Code>ExpiredToken</Code></Error>;field Content-Length\n");
    Begin();
    EXPECT_EQ(Methods(), (Requests{"HEAD", "GET", "GET", "HEAD"})) << status;
  }
}

// A list that grants everybody to read the object.
constexpr const char* kPublicList =
    "body <AccessControlPolicy><Owner><ID>o</ID></Owner><AccessControlList><Grant><Grantee "
    "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:type='Group'>"
    "<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI></Grantee>"
    "<Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>;"
    "field Content-Length";

TEST_F(S3ReplacerTest, APutThatIsRefusedCostsNoObjectItsAccessControlList) {
  const std::string shows = std::string("on GET;status 200;") + kPublicList + '\n';
  Put("base");
  Proxy().Break(shows + "on PUT;status 403\non PUT;status 403\n");
  const auto refused = Commit("refused");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  (void)Methods();
  // With the list refused and the object taken without it, that object alone loses its list.
  Proxy().Break(shows + "on PUT;status 403\n");
  ExpectCommit("ours");
  EXPECT_EQ(Methods(), (Requests{"HEAD", "GET", "PUT", "PUT", "GET"}));
  Put("another");
  Proxy().Break(shows + "on PUT;status 403\n");
  ExpectCommit("ours again");
  EXPECT_EQ(Methods(), (Requests{"HEAD", "GET", "PUT", "PUT", "GET"})) << "its list is asked for";
}

TEST_F(S3ReplacerTest, AListThatIsDeniedIsLogged) {
  Put("base");
  Proxy().Break("on GET;status 403\n");
  testing::internal::CaptureStderr();
  ExpectCommit("ours");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("?acl="), std::string::npos) << log;
}

TEST_F(S3ReplacerTest, TheFirstProbeSurvivesFaults) {
  // Servers are known by their URL: nothing is known yet of the server behind a new proxy.
  for (const char* faults :
       {"on PUT;status 503\non PUT;drop\non HEAD;status 500\non PUT;lose\non DELETE;lose\n",
        "on PUT;lose\non PUT;instead 500\non PUT;status 500\non HEAD;drop\n",
        "on PUT;pass\non PUT;status 503\non PUT;status 503\non PUT;lose\non PUT;upload 3\n"}) {
    SCOPED_TRACE(faults);
    FaultProxy proxy(Server().http());
    options_.environment = Server().ClientEnvironment(proxy.http());
    const auto store = OpenS3Store("s3://bucket/" + directory_, options_);
    ASSERT_TRUE(store);
    proxy.Break(faults);
    const auto begun = store->replacer->Begin({kKey, std::nullopt}, {});
    EXPECT_TRUE(begun) << begun.error().message;
    proxy.TakeRequests();
    EXPECT_TRUE(store->replacer->CanReplace(kKey));
    EXPECT_TRUE(store->replacer->Begin({kKey, std::nullopt}, {}));
    EXPECT_EQ(proxy.TakeRequests().size(), 1u) << "probed again";
    std::vector<std::string> left;
    EXPECT_TRUE(store->objects->List("", Deadline::None(), [&](const ListEntry& entry) {
      left.emplace_back(entry.name);
      return true;
    }));
    EXPECT_EQ(left, std::vector<std::string>{});
  }
}

// In parts of 5 MiB, the least that services take.
class S3PartsTest : public S3ReplacerTest {
 protected:
  void SetUp() override {
    options_.remote.parts_above = 6 * kMebibyte;
    options_.remote.part_bytes = 5 * kMebibyte;
    options_.remote.copies_from = 5 * kMebibyte;
    S3ReplacerTest::SetUp();
    if (IsSkipped()) return;
    base_ = RandomText(static_cast<std::size_t>(12 * kMebibyte), 1);
    ExpectCommit(base_);
    Proxy().TakeRequests();
  }
  static std::size_t Count(const Requests& requests, const std::string& method) {
    return static_cast<std::size_t>(std::count(requests.begin(), requests.end(), method));
  }
  std::string base_;
};

TEST_F(S3PartsTest, UnchangedPartsAreCopiedInTheServer) {
  const auto replacement = Begin();
  ASSERT_TRUE(*replacement->StartFromBase());
  ASSERT_TRUE(replacement->Write(3, AsBytes("new")));
  ASSERT_TRUE(replacement->Write(base_.size(), AsBytes("more")));
  const auto committed = replacement->Commit([]() -> Status { return {}; });
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->outcome, Outcome::kCommitted);
  std::uint64_t moved = 0;
  for (const std::string& line : Proxy().TakeRequests()) {
    const bool is_list = line.find("?acl=") != std::string::npos;
    if (line.starts_with("GET ") && !is_list) ++moved;
  }
  EXPECT_EQ(moved, 2u) << "around what is new in the first part, and what precedes it in the last";
  const std::string expected = base_.substr(0, 3) + "new" + base_.substr(6) + "more";
  EXPECT_TRUE(Text() == expected);
  EXPECT_EQ(store_.replacer->Attempts(kKey)->front(), replacement->attempt());
}

TEST_F(S3PartsTest, ACompletionThatFailsOrIsLostIsSettled) {
  for (const char* fault :
       {"lose", "instead 500", "status 503", "drop",
        "status 200;body <Error><Code>InternalError</Code></Error>;field Content-Length"}) {
    SCOPED_TRACE(fault);
    const std::string text = RandomText(static_cast<std::size_t>(7 * kMebibyte), 2);
    Proxy().Break(std::string("on POST;pass\non POST;") + fault + '\n');
    const auto committed = Commit(text);
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kCommitted);
    EXPECT_TRUE(Text() == text);
  }
}

// Else an upload would be left whose id is lost.
TEST_F(S3PartsTest, AnUploadIsBegunOnceMoreOnlyWhereTheServiceHasRefusedIt) {
  const std::string text = RandomText(static_cast<std::size_t>(7 * kMebibyte), 3);
  Proxy().Break("on POST;status 503\non POST;status 429\n");
  ExpectCommit(text);
  EXPECT_EQ(Count(Methods(), "POST"), 4) << "three beginnings and a completion";
  for (const char* fault : {"lose", "instead 500"}) {
    Proxy().Break(std::string("on POST;") + fault + '\n');
    EXPECT_FALSE(Commit("another " + text)) << fault;
    EXPECT_EQ(Count(Methods(), "POST"), 1) << fault;
  }
}

TEST_F(S3PartsTest, AnotherWritersVersionStays) {
  const auto replacement = Begin();
  ASSERT_TRUE(*replacement->StartFromBase());
  const auto committed = replacement->Commit([&]() -> Status {
    Put("theirs");
    return {};
  });
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->outcome, Outcome::kConditionFailed);
  EXPECT_EQ(Text(), "theirs");
  const auto uploads = Server().Ask(Method::kGet, "/bucket?uploads=");
  EXPECT_EQ(AsText(uploads.body).find(directory_), std::string_view::npos)
      << "parts are left: " << AsText(uploads.body);
}

TEST(S3rverTest, AServerThatIgnoresConditionsIsReadOnlyUnlessThereIsOneWriter) {
  S3rver server;
  if (server.http().empty()) GTEST_SKIP() << "s3rver is missing: see tests/run";
  constexpr const char* kKey = "a/0.shard";
  S3Options options;
  options.environment = server.ClientEnvironment();
  const auto refusing = OpenS3Store("s3://bucket/a", options);
  ASSERT_TRUE(refusing);
  const Status refused = refusing->replacer->CanReplace(kKey);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kReadOnly);
  EXPECT_NE(refused.error().message.find("If-None-Match"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(refusing->replacer->Begin({kKey, std::nullopt}, {}));
  options.remote.single_writer = true;
  const auto daring = OpenS3Store("s3://bucket/a", options);
  ASSERT_TRUE(daring->replacer->CanReplace(kKey));
  const Status replaced = ReplaceObject(*daring->replacer, kKey, AsBytes("text"));
  EXPECT_TRUE(replaced) << replaced.error().message;
  const auto whole = ReadWhole(*daring->objects, kKey, 100, Deadline::None());
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->text, "text");
}

}  // namespace
}  // namespace unshard
