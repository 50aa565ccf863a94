// Replacing objects of fake-gcs-server: through a proxy that loses, cuts and repeats, and through a
// gate that asks for tokens.
#include "store/gcs/gcs_replacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "store/gcs/gcs_store.h"
#include "store/http/curl_transport.h"
#include "store/http/url.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/replacer_test.h"

namespace unshard {
namespace {

using Method = HttpRequest::Method;

constexpr std::uint64_t kKiB = 1024;

class GcsReplacerTest : public ReplacerTest {
 protected:
  static FakeGcs& Server() {
    static FakeGcs server;
    return server;
  }
  FaultProxy& Proxy() const override {
    static FaultProxy proxy(Server().http());
    return proxy;
  }
  std::shared_ptr<ObjectStore> OpenBesides() const override {
    return OpenGcsStore("gs://bucket/" + directory_, Server().environment(), {})->objects;
  }

  void SetUp() override {
    if (Server().is_missing()) GTEST_SKIP() << "fake-gcs-server is missing: see tests/run";
    Proxy().Break("");
    options_.remote.least_delay = options_.remote.most_delay = std::chrono::milliseconds(1);
    GcsEnvironment environment;
    environment.emulator_host = Proxy().http();
    Open(environment);
  }
  void Open(const GcsEnvironment& environment) {
    Use(OpenGcsStore("gs://bucket/" + directory_, environment, options_));
  }
  void Put(std::string_view text) { Server().Put(directory_ + '/' + kKey, text); }
  // Of the object, not through the proxy.
  HttpResponse Ask(Method method, const std::string& path, const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.url = Server().http() + path;
    request.headers = {{"Content-Type", "multipart/related; boundary=x"}};
    request.body = body;
    request.max_whole_body = request.max_other_body = std::uint64_t{1} << 20;
    const auto response = Send(*MakeCurlTransport({}), std::move(request));
    EXPECT_TRUE(response && response->status == 200);
    return response.value_or(HttpResponse{});
  }

  GcsStoreOptions options_;
};

TEST_F(GcsReplacerTest, AnObjectThatIsReplacedWholeCostsALookAndAnUpload) {
  for (const char* text : {"first", "second", ""}) {
    const auto committed = Commit(text);
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kCommitted);
    EXPECT_EQ(Methods(), (Requests{"GET", "POST"}));
    EXPECT_EQ(Text(), text);
  }
}

TEST_F(GcsReplacerTest, WhatBecameOfAnUploadIsFoundOut) {
  for (const char* fault : {"lose", "instead 500", "instead 503", "instead 412"}) {
    Proxy().Break(std::string("on POST;") + fault + '\n');
    ExpectCommit(std::string("put in spite of ") + fault);
    const Requests methods = Methods();
    EXPECT_EQ(std::count(methods.begin(), methods.end(), "POST"), 1) << fault;
  }
  for (const char* fault : {"status 503", "status 429", "drop", "upload 700"}) {
    Proxy().Break(std::string("on POST;") + fault + '\n');
    ExpectCommit(RandomText(2000, 1) + fault);
    const Requests methods = Methods();
    EXPECT_EQ(std::count(methods.begin(), methods.end(), "POST"), 2) << fault;
  }
}

TEST_F(GcsReplacerTest, AGenerationOfAnotherWriterIsNeverReplaced) {
  for (const char* fault : {"pass", "lose", "instead 500"}) {
    // The same bytes: generations tell them apart.
    Put("base");
    const auto replacement = Begin();
    ASSERT_TRUE(replacement->Write(0, AsBytes("ours")));
    Put("base");
    Proxy().Break(std::string("on POST;") + fault + '\n');
    const auto committed = replacement->Commit([]() -> Status { return {}; });
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kConditionFailed);
    EXPECT_EQ(Text(), "base");
  }
}

TEST_F(GcsReplacerTest, ALateDuplicateReplacesNothing) {
  Put("base");
  Proxy().Break("on POST;again 0.2\n");
  ExpectCommit("ours");
  Put("theirs, later");
  for (bool again = false; !again;) {
    for (const std::string& line : Proxy().TakeRequests()) {
      again = again || line.starts_with("again POST");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Text(), "theirs, later");
}

TEST_F(GcsReplacerTest, MetadataSurvives) {
  const std::string name = directory_ + '/' + kKey;
  Ask(Method::kPost, "/upload/storage/v1/b/bucket/o?uploadType=multipart&name=" + name,
      "--x\r\nContent-Type: application/json\r\n\r\n"
      R"({"contentType":"image/png","cacheControl":"public, max-age=7",)"
      R"("contentDisposition":"inline","contentLanguage":"de","storageClass":"NEARLINE",)"
      R"("metadata":{"owner":"somebody"}})"
      "\r\n--x\r\nContent-Type: image/png\r\n\r\nbase\r\n--x--\r\n");
  const auto resource = [&] {
    const auto answer = Ask(Method::kGet, "/storage/v1/b/bucket/o/" + EscapeQueryValue(name));
    return ParseJson(AsText(answer.body)).value_or(JsonValue::Object());
  };
  const JsonValue before = resource();
  ASSERT_EQ(TextOf(before, "contentType"), "image/png");
  for (const char* text : {"first", "second"}) ExpectCommit(text);
  const JsonValue after = resource();
  EXPECT_NE(TextOf(after, "generation"), TextOf(before, "generation"));
  for (const char* member :
       {"contentType", "cacheControl", "contentDisposition", "contentLanguage", "storageClass"}) {
    EXPECT_EQ(TextOf(after, member), TextOf(before, member)) << member;
  }
  ASSERT_NE(after.Find("metadata"), nullptr);
  EXPECT_EQ(TextOf(*after.Find("metadata"), "owner"), "somebody");
  EXPECT_EQ(TextOf(*after.Find("metadata"), "unshard-attempts").size(), 16u + 1 + 16);
}

// In parts of 256 KiB, the least that the service takes.
class ResumableUploadTest : public GcsReplacerTest {
 protected:
  void SetUp() override {
    options_.remote.parts_above = 300 * kKiB;
    options_.remote.part_bytes = 256 * kKiB;
    GcsReplacerTest::SetUp();
    if (IsSkipped()) return;
    // The first one probes uploads in parts.
    ExpectCommit(RandomText(400 * kKiB, 1));
    Proxy().TakeRequests();
  }
};

TEST_F(ResumableUploadTest, PartsArriveInOrderAndAreCountedByTheService) {
  const std::string text = RandomText(900 * kKiB + 17, 2);
  ExpectCommit(text);
  const Requests methods = Methods();
  EXPECT_EQ(std::count(methods.begin(), methods.end(), "POST"), 1);
  EXPECT_EQ(std::count(methods.begin(), methods.end(), "PUT"), 4);
}

TEST_F(ResumableUploadTest, OfAnEmulatorAnUploadThatFailsBeginsAnew) {
  for (const char* fault : {"lose", "status 503", "instead 500", "drop"}) {
    SCOPED_TRACE(fault);
    // The last part, which makes the version.
    Proxy().Break(std::string("on PUT;pass\non PUT;pass\non PUT;") + fault + '\n');
    ExpectCommit(RandomText(600 * kKiB, 3));
  }
  const std::string before = Text();
  Proxy().Break("on PUT;status 503\n");
  EXPECT_FALSE(Commit(RandomText(600 * kKiB, 4)));
  EXPECT_TRUE(Text() == before);
}

TEST_F(ResumableUploadTest, AGenerationOfAnotherWriterStays) {
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes(RandomText(600 * kKiB, 4))));
  const auto committed = replacement->Commit([&]() -> Status {
    Put("theirs");
    return {};
  });
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->outcome, Outcome::kConditionFailed);
  EXPECT_EQ(Text(), "theirs");
}

// With credentials, and with what the emulator does not do.
class GatedReplacerTest : public GcsReplacerTest {
 protected:
  static GcsGate& Gate() {
    static GcsGate gate(Server());
    return gate;
  }
  void SetUp() override {
    if (Server().is_missing()) GTEST_SKIP() << "fake-gcs-server is missing: see tests/run";
    options_.remote.least_delay = options_.remote.most_delay = std::chrono::milliseconds(1);
    Gate().Set("");
    environment_ = Gate().environment();
    environment_.application_credentials = Gate().ServiceFile();
  }
  GcsEnvironment environment_;
};

TEST_F(GatedReplacerTest, AnExpiredTokenAndARateLimitAreGotOver) {
  Open(environment_);
  ExpectCommit("first");
  Gate().Set("expire");
  ExpectCommit("second");
  Gate().Set("limit");
  ExpectCommit("third");
  EXPECT_EQ(Gate().Requests().find(" reader\n"), std::string::npos);
}

// Through a proxy before the gate: the service itself tells how much of an upload is there.
TEST_F(GatedReplacerTest, PartsThatAreLostOrCutAreFinished) {
  FaultProxy proxy(Gate().http());
  environment_.endpoint = proxy.http();
  options_.remote.parts_above = 300 * kKiB;
  options_.remote.part_bytes = 256 * kKiB;
  Open(environment_);
  int objects = 0;
  for (const char* faults :
       {"", "on PUT;lose\n", "on PUT;drop\n", "on PUT;upload 1000\n", "on PUT;instead 503\n",
        "on PUT;status 500\n", "on PUT;pass\non PUT;status 503\non PUT;status 503\n",
        // The last part, which makes the version.
        "on PUT;pass\non PUT;pass\non PUT;lose\n", "on PUT;pass\non PUT;pass\non PUT;status 503\n",
        "on PUT;pass\non PUT;pass\non PUT;instead 500\n"}) {
    SCOPED_TRACE(faults);
    // Others each time: one object is not written more than once a second.
    const std::string key = std::to_string(++objects) + ".shard";
    const std::string text = RandomText(600 * kKiB, 3);
    auto replacement = store_.replacer->Begin({key, std::nullopt}, {});
    ASSERT_TRUE(replacement) << replacement.error().message;
    ASSERT_TRUE((*replacement)->Write(0, AsBytes(text)));
    proxy.Break(objects == 1 ? "" : faults);
    const auto committed = (*replacement)->Commit([]() -> Status { return {}; });
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, Outcome::kCommitted) << committed->reason.message;
    const auto whole = ReadWhole(*store_.objects, key, std::uint64_t{1} << 30, Deadline::None());
    ASSERT_TRUE(whole && *whole);
    EXPECT_TRUE((*whole)->text == text);
  }
}

TEST_F(GatedReplacerTest, WhoMayOnlyReadIsToldSoInTheWordsOfTheService) {
  // Nothing is known yet of what stands at another URL.
  GcsGate gate(Server());
  environment_ = gate.environment();
  environment_.application_credentials = gate.ServiceFile();
  options_.read_only = true;
  auto store = OpenGcsStore("gs://bucket/" + directory_, environment_, options_);
  ASSERT_TRUE(store) << store.error().message;
  const Status can = store->replacer->CanReplace(kKey);
  ASSERT_FALSE(can);
  EXPECT_EQ(can.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(can.error().message.find("not authorized"), std::string::npos) << can.error().message;
  EXPECT_EQ(can.error().message.find("secret-"), std::string::npos);
}

TEST_F(GatedReplacerTest, RemovalsKeepToTheirCondition) {
  Open(environment_);
  Put("base");
  auto replacement = Begin();
  Put("theirs");
  const auto stays = replacement->Remove([]() -> Status { return {}; });
  ASSERT_TRUE(stays) << stays.error().message;
  EXPECT_EQ(stays->outcome, Outcome::kConditionFailed);
  EXPECT_EQ(Text(), "theirs");
  replacement = Begin();
  const auto removed = replacement->Remove([]() -> Status { return {}; });
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->outcome, Outcome::kCommitted);
  EXPECT_EQ(Text(), "missing");
}

TEST_F(GatedReplacerTest, TheServiceGetsOneVersionOfAnObjectASecond) {
  Open(environment_);
  EXPECT_EQ(store_.replacer->least_interval(), std::chrono::seconds(1));
  const auto begin = std::chrono::steady_clock::now();
  ExpectCommit("first");
  ExpectCommit("second");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(990));
}

}  // namespace
}  // namespace unshard
