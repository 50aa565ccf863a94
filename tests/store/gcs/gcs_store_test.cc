// Google Cloud Storage as an emulator serves it, with and without tokens. What all stores do is in
// the contract suite (tests/store/object/object_store_contract_test.cc).
#include "store/gcs/gcs_store.h"

#include <gtest/gtest.h>

#include <future>
#include <set>

#include "codec/codecs/gzip.h"
#include "store/gcs/authorization.h"
#include "tests/support/fake_gcs.h"

namespace unshard {
namespace {

FakeGcs& SharedServer() {
  static FakeGcs server;
  return server;
}

FaultProxy& SharedProxy() {
  static FaultProxy proxy(SharedServer().http());
  return proxy;
}

GcsGate& SharedGate() {
  static GcsGate gate(SharedServer());
  return gate;
}

class GcsStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (SharedServer().is_missing()) GTEST_SKIP() << "fake-gcs-server is missing: see tests/run";
    ASSERT_FALSE(SharedServer().http().empty());
    ASSERT_FALSE(SharedProxy().http().empty());
    ASSERT_FALSE(SharedGate().http().empty());
    directory_ = testing::UnitTest::GetInstance()->current_test_info()->name();
    SharedProxy().Break("");
    SharedGate().Set("");
  }

  void Put(const std::string& key, std::string_view bytes, std::string_view encoding = "") const {
    SharedServer().Put(directory_ + '/' + key, bytes, encoding);
  }
  [[nodiscard]] std::string Url() const { return "gs://bucket/" + directory_; }
  // Through the fault proxy, whose list of requests is empty then.
  [[nodiscard]] std::shared_ptr<ObjectStore> Store() const {
    GcsEnvironment environment;
    environment.emulator_host = SharedProxy().http();
    auto store = OpenGcsStore(Url(), environment, {});
    EXPECT_TRUE(store) << store.error().message;
    SharedProxy().TakeRequests();
    return store ? store->objects : nullptr;
  }
  static std::vector<std::string> TakeRequests() { return SharedProxy().TakeRequests(); }

  static Result<std::string> Text(ObjectStore& store, const std::string& key) {
    UNSHARD_ASSIGN_OR_RETURN(const auto opened,
                             store.Open(key, RangeRequest::At(0, 100), Deadline::None()));
    if (!opened.version) return std::string("missing");
    return std::string(AsText(opened.first.span()));
  }
  // Of "key", through the gate.
  [[nodiscard]] Result<std::string> TextAs(const GcsEnvironment& environment) const {
    UNSHARD_ASSIGN_OR_RETURN(const GcsStore store, OpenGcsStore(Url(), environment, {}));
    return Text(*store.objects, "key");
  }

  std::string directory_;
};

TEST_F(GcsStoreTest, AnOpenAndAReadCostOneRequestEach) {
  Put("a b/key", "0123456789");
  const auto store = Store();
  const auto opened = store->Open("a b/key", RangeRequest::At(2, 3), Deadline::None());
  ASSERT_TRUE(opened && opened->version);
  const auto opening = TakeRequests();
  ASSERT_EQ(opening.size(), 1u);
  EXPECT_TRUE(opening[0].starts_with("GET /storage/v1/b/bucket/o/" + directory_ +
                                     "%2Fa%20b%2Fkey?alt=media&unshard="))
      << opening[0];
  EXPECT_NE(opening[0].find(" bytes=2-4 - -"), std::string::npos) << opening[0];
  EXPECT_TRUE(opened->version->Read(RangeRequest::Suffix(2), Deadline::None()));
  const auto reading = TakeRequests();
  ASSERT_EQ(reading.size(), 1u);
  EXPECT_NE(reading[0].find("&ifGenerationMatch=1"), std::string::npos) << reading[0];
  EXPECT_NE(reading[0].find(" bytes=8-9 - -"), std::string::npos) << reading[0];
  EXPECT_FALSE(store->Open("absent", RangeRequest::At(0, 1), Deadline::None())->version);
  EXPECT_EQ(TakeRequests().size(), 1u);
  EXPECT_EQ(store->Describe("a b/key"), Url() + "/a b/key");
}

TEST_F(GcsStoreTest, NoCacheHasTheUrlOfARequest) {
  Put("key", "x");
  const auto store = Store();
  std::set<std::string> urls;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Text(*store, "key"), "x");
  for (const std::string& request : TakeRequests()) urls.insert(request);
  EXPECT_EQ(urls.size(), 3u);
}

TEST_F(GcsStoreTest, AnAnswer412IsAReplacedVersion) {
  Put("key", "0123456789");
  const auto store = Store();
  const auto opened = store->Open("key", RangeRequest::At(0, 1), Deadline::None());
  ASSERT_TRUE(opened && opened->version);
  SharedProxy().Break("status 412\n");  // the emulator ignores the condition
  const auto read = opened->version->Read(RangeRequest::At(0, 1), Deadline::None());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state, ReadResult::State::kConditionFailed);
}

TEST_F(GcsStoreTest, ObjectsThatAreStoredCompressedAreDecoded) {
  const std::string_view text = "a document that was uploaded with gsutil cp -Z";
  Put("key", AsText(GzipEncode(AsBytes(text))), "gzip");
  const auto store = Store();
  const auto opened = store->Open("key", RangeRequest::At(2, 8), Deadline::None());
  ASSERT_TRUE(opened && opened->version) << opened.error().message;
  EXPECT_EQ(opened->version->info().size, text.size());
  EXPECT_EQ(AsText(opened->first.span()), text.substr(2, 8));
  const auto read = opened->version->Read(RangeRequest::Suffix(2), Deadline::None());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(AsText(read->value.span()), "-Z");
}

TEST_F(GcsStoreTest, AListingGoesOnFromWhereItsReaderStopped) {
  constexpr int kNames = 1100;  // more than a page
  for (int i = 0; i < kNames; ++i) Put("top/" + std::to_string(i), "x");
  const auto store = Store();
  std::set<std::string> seen;
  std::uint64_t resume = 0;
  for (bool more = true; more;) {
    more = false;
    int visited = 0;
    ASSERT_TRUE(store->ListFrom("top", resume, Deadline::None(), [&](const ListEntry& entry) {
      if (visited == 100) return false;  // no room
      ++visited;
      EXPECT_TRUE(seen.emplace(entry.name).second) << entry.name;
      resume = entry.resume;
      return more = true;
    }));
  }
  EXPECT_EQ(seen.size(), std::size_t{kNames});
  EXPECT_EQ(TakeRequests().size(), 2u);
}

TEST_F(GcsStoreTest, AnObjectWithTheNameOfADirectoryHidesIt) {
  Put("both", "x");
  Put("both/below", "x");
  Put("folder/", "");  // as consoles make them
  const auto store = Store();
  std::multiset<std::string> names;
  ASSERT_TRUE(store->List("", Deadline::None(), [&](const ListEntry& entry) {
    names.emplace(entry.name);
    EXPECT_EQ(entry.kind == ObjectInfo::Kind::kFile, entry.name == "both") << entry.name;
    return true;
  }));
  EXPECT_EQ(names, (std::multiset<std::string>{"both", "folder"}));
  EXPECT_EQ((*store->Stat("both", Deadline::None()))->kind, ObjectInfo::Kind::kFile);
  int below = 0;
  ASSERT_TRUE(store->List("folder", Deadline::None(), [&](const ListEntry&) { return ++below; }));
  EXPECT_EQ(below, 0);
}

TEST_F(GcsStoreTest, AMissingBucketIsAnError) {
  const auto store = OpenGcsStore("gs://no-such-bucket/key", SharedServer().environment(), {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kNotFound);
  EXPECT_NE(store.error().message.find("gs://no-such-bucket/key"), std::string::npos);
}

TEST_F(GcsStoreTest, TokensOfEveryKindOfCredential) {
  Put("key", "for those who may");
  GcsEnvironment service = SharedGate().environment();
  service.application_credentials = SharedGate().ServiceFile();
  EXPECT_EQ(TextAs(service).value_or("denied"), "for those who may");
  GcsEnvironment user = SharedGate().environment();
  user.application_credentials = SharedGate().UserFile();
  EXPECT_EQ(TextAs(user).value_or("denied"), "for those who may");
  GcsEnvironment machine = SharedGate().environment();
  machine.no_gce_check = "";
  machine.metadata_host = SharedGate().MetadataHost();
  EXPECT_EQ(TextAs(machine).value_or("denied"), "for those who may");
  const std::string requests = SharedGate().Requests();
  for (const char* kind : {" service\n", " user\n", " machine\n"}) {
    EXPECT_NE(requests.find(kind), std::string::npos) << kind;
  }
}

TEST_F(GcsStoreTest, ATokenGoesWithTheProjectThatPays) {
  GcsEnvironment user = SharedGate().environment();
  user.application_credentials = SharedGate().UserFile();
  user.quota_project = "payer";
  const GcsEndpoint endpoint = MakeGcsEndpoint("", user.endpoint).value();
  const auto authorization = MakeGcsAuthorization(endpoint, user, "bucket", GcsScope::kRead);
  std::promise<Result<HttpRequest>> authorized;
  authorization->Authorize(
      {}, [&](Result<HttpRequest> request) { authorized.set_value(std::move(request)); });
  const auto request = authorized.get_future().get();
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(FindHeader(request->headers, "Authorization"));
  EXPECT_EQ(FindHeader(request->headers, "x-goog-user-project"), "payer");
}

TEST_F(GcsStoreTest, OnlyAMetadataServerIsBelieved) {
  GcsEnvironment machine = SharedGate().environment();
  machine.no_gce_check = "";
  machine.metadata_host = SharedServer().http().substr(7);
  const auto store = OpenGcsStore(Url(), machine, {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(store.error().message.find("not come from a metadata server"), std::string::npos);
}

TEST_F(GcsStoreTest, ATokenThatIsRefusedIsRenewedOnce) {
  Put("key", "x");
  GcsEnvironment user = SharedGate().environment();
  user.application_credentials = SharedGate().UserFile();
  const auto store = OpenGcsStore(Url(), user, {});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(Text(*store->objects, "key"), "x");
  SharedGate().Set("expire");
  EXPECT_EQ(Text(*store->objects, "key"), "x");
  SharedGate().Set("expire");
  EXPECT_EQ(Text(*store->objects, "key"), "x");
}

TEST_F(GcsStoreTest, ACredentialThatIsRefusedIsSaidSo) {
  GcsEnvironment user = SharedGate().environment();
  user.application_credentials = SharedGate().UserFile();
  SharedGate().Set("refuse");
  const auto store = OpenGcsStore(Url(), user, {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(store.error().message.find("the user's login"), std::string::npos);
  EXPECT_NE(store.error().message.find("invalid_grant"), std::string::npos);
  EXPECT_EQ(store.error().message.find("refresh\""), std::string::npos);
}

TEST_F(GcsStoreTest, PublicObjectsNeedNoCredential) {
  Put("key", "for all");
  SharedGate().Set("public");
  EXPECT_EQ(TextAs(SharedGate().environment()).value_or("denied"), "for all");
  GcsEnvironment broken = SharedGate().environment();
  broken.application_credentials = "/does/not/exist";
  EXPECT_FALSE(TextAs(broken));
  GcsStoreOptions anonymous;
  anonymous.anonymous = true;
  const auto store = OpenGcsStore(Url(), broken, anonymous);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(Text(*store->objects, "key").value_or("denied"), "for all");
}

TEST_F(GcsStoreTest, WithoutTheRightToListDeniedIsMissing) {
  Put("key", "for all");
  SharedGate().Set("unlisted");
  const auto store = OpenGcsStore(Url(), SharedGate().environment(), {});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_FALSE(store->objects->capabilities().lists);
  EXPECT_NE(store->listing_denied.find("storage.objects.list"), std::string::npos);
  EXPECT_EQ(Text(*store->objects, "key"), "for all");
  EXPECT_EQ(Text(*store->objects, "absent"), "missing");
  EXPECT_FALSE(*store->objects->Stat("absent", Deadline::None()));
}

TEST_F(GcsStoreTest, DeniedObjectsOfAListedBucketAreAnError) {
  Put("key", "x");
  SharedGate().Set("public");
  const auto store = OpenGcsStore(Url(), SharedGate().environment(), {});
  ASSERT_TRUE(store) << store.error().message;
  SharedGate().Set("");
  const auto text = Text(*store->objects, "key");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(text.error().message.find("Anonymous caller does not have"), std::string::npos);
  EXPECT_NE(text.error().message.find(Url() + "/key"), std::string::npos);
}

TEST_F(GcsStoreTest, NoSecretIsInAMessage) {
  GcsEnvironment user = SharedGate().environment();
  user.application_credentials = SharedGate().UserFile();
  const auto store = OpenGcsStore(Url(), user, {});
  ASSERT_TRUE(store) << store.error().message;
  SharedGate().Set("refuse expire");
  const auto text = Text(*store->objects, "key");
  ASSERT_FALSE(text);
  for (const char* secret : {"secret", "Bearer", "1//", "client/1"}) {
    EXPECT_EQ(text.error().message.find(secret), std::string::npos) << text.error().message;
  }
}

}  // namespace
}  // namespace unshard
