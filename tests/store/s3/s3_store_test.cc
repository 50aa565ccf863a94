// Which requests the store of a bucket sends when it is opened, and what denials are.
#include "store/s3/s3_store.h"

#include <gtest/gtest.h>

#include "tests/support/s3_server.h"

namespace unshard {
namespace {

constexpr const char* kDenied =
    "status 403;body <Error><Code>AccessDenied</Code></Error>;field Content-Length";

class S3StoreTest : public testing::Test {
 protected:
  static Versitygw& Server() {
    static Versitygw server;
    return server;
  }
  static FaultProxy& Proxy() {
    static FaultProxy proxy(Server().http());
    return proxy;
  }
  void SetUp() override {
    if (!HasVersitygw()) GTEST_SKIP() << "versitygw is missing: see tests/run";
    Break("");
    Server().Put("a/key", "text");
    Proxy().TakeRequests();
  }
  static void Break(const std::string& faults) { Proxy().Break(faults + '\n'); }
  static Result<S3Store> Open() {
    S3Options options;
    options.environment = Server().ClientEnvironment(Proxy().http());
    options.asks_for_listing = true;
    return OpenS3Store("s3://bucket/a", options);
  }
  // "found", "missing" or the kind of the error.
  static std::string Find(const S3Store& store, const std::string& faults = "") {
    Break(faults);
    const auto opened = store.objects->Open("key", RangeRequest::At(0, 4), Deadline::None());
    if (!opened) return std::string(ErrorCodeName(opened.error().code));
    return opened->version ? "found" : "missing";
  }
};

TEST_F(S3StoreTest, WhereAListingIsDeniedADeniedObjectIsMissing) {
  Break(kDenied);
  const auto store = Open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(Proxy().TakeRequests().size(), 1u);
  EXPECT_NE(store->listing_denied.find("AccessDenied"), std::string::npos);
  EXPECT_FALSE(store->objects->capabilities().lists);
  EXPECT_EQ(Find(*store), "found");
  EXPECT_EQ(Find(*store, kDenied), "missing");
  EXPECT_EQ(Find(*store, "status 403"), "missing");
  for (const char* code : {"InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed"}) {
    const std::string fault = std::string("status 403;body <Error><Code>") + code +
                              "</Code></Error>;field Content-Length\n";
    EXPECT_EQ(Find(*store, fault + fault), "permission denied") << code;
  }
}

// Writers do not know what stands under a key that is denied: they put it only where nothing does.
TEST_F(S3StoreTest, WhereAListingIsDeniedAnObjectThatIsDeniedIsNotReplaced) {
  Break(kDenied);
  const auto store = Open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(store->replacer->CanReplace("key"));
  Break(std::string("on HEAD;status 403\non GET;") + kDenied);
  const auto begun = store->replacer->Begin({"key", std::nullopt}, {});
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ((*begun)->base(), nullptr);
  ASSERT_TRUE((*begun)->Write(0, AsBytes("ours")));
  const auto committed = (*begun)->Commit([]() -> Status { return {}; });
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->outcome, Committed::Outcome::kConditionFailed);
  EXPECT_EQ(Find(*store), "found");
}

TEST_F(S3StoreTest, WhereABucketIsListedADeniedObjectIsAnError) {
  const auto store = Open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->listing_denied, "");
  EXPECT_TRUE(store->objects->capabilities().lists);
  EXPECT_EQ(Find(*store, kDenied), "permission denied");
  Break(std::string("on HEAD;status 403\non GET;") + kDenied);
  EXPECT_FALSE(store->replacer->Begin({"key", std::nullopt}, {}));
}

TEST_F(S3StoreTest, WrongCredentialsAreNoDeniedListing) {
  const std::string fault =
      "status 403;body <Error><Code>InvalidAccessKeyId</Code></Error>;field Content-Length";
  Break(fault + '\n' + fault);
  const auto store = Open();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(store.error().message.find("refuses the access key"), std::string::npos)
      << store.error().message;
  Break("status 501");
  EXPECT_TRUE(Open()) << "a service without listings may be read";
}

}  // namespace
}  // namespace unshard
