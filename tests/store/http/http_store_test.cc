// What HTTP servers do wrong, and what becomes of it. What all stores do is in the contract suite
// (tests/store/object/object_store_contract_test.cc).
#include "store/http/http_store.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "codec/codecs/file_suffixes.h"
#include "codec/codecs/gzip.h"
#include "tests/support/http_servers.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Nginx& SharedNginx() {
  static Nginx nginx;
  return nginx;
}

FaultProxy& SharedProxy() {
  static FaultProxy proxy(SharedNginx().http());
  return proxy;
}

class HttpStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(SharedNginx().http().empty());
    ASSERT_FALSE(SharedProxy().http().empty());
    directory_ = testing::UnitTest::GetInstance()->current_test_info()->name();
    SharedProxy().Break("");
    SharedProxy().TakeRequests();
  }

  void Put(const std::string& key, std::string_view text) {
    SharedNginx().files().Put(directory_ + '/' + key, text);
  }
  void Remove(const std::string& key) { SharedNginx().files().Remove(directory_ + '/' + key); }
  // The store of the test's directory, at a location of tests/servers/nginx.
  std::shared_ptr<ObjectStore> Store(const std::string& location = "/plain/",
                                     const HttpStoreOptions& options = {}) {
    return StoreAt(SharedProxy().http() + location + directory_, options);
  }
  static std::shared_ptr<ObjectStore> StoreAt(const std::string& url,
                                              const HttpStoreOptions& options = {}) {
    const auto store = OpenHttpStore(url, options);
    EXPECT_TRUE(store) << store.error().message;
    return store.value_or(nullptr);
  }
  // One line for each of the next requests.
  static void Break(std::string_view faults) { SharedProxy().Break(faults); }
  static std::vector<std::string> TakeRequests() { return SharedProxy().TakeRequests(); }

  static Result<ObjectStore::Opened> TryOpen(ObjectStore& store, const RangeRequest& first,
                                             const Deadline& deadline = Deadline::None()) {
    return store.Open("key", first, deadline);
  }
  static ObjectStore::Opened Open(ObjectStore& store,
                                  const RangeRequest& first = RangeRequest::At(0, 4)) {
    auto opened = TryOpen(store, first);
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(opened && opened->version);
    return opened ? *std::move(opened) : ObjectStore::Opened();
  }
  // The bytes; nothing: the condition failed.
  static std::optional<std::string> Read(ObjectVersion& version, const RangeRequest& range) {
    const auto read = version.Read(range, Deadline::None());
    EXPECT_TRUE(read) << read.error().message;
    if (!read || read->state != ReadResult::State::kFound) return std::nullopt;
    return std::string(AsText(read->value.span()));
  }
  static std::string TextOf(const Bytes& bytes) { return std::string(AsText(bytes.span())); }
  static Deadline Soon() { return {steady_clock::now() + milliseconds(300), {}}; }

  std::string directory_;
};

TEST_F(HttpStoreTest, AnOpenAndAReadCostOneGetEach) {
  Put("key", "0123456789");
  const auto store = Store();
  const auto opened = Open(*store, RangeRequest::At(2, 3));
  EXPECT_EQ(TextOf(opened.first), "234");
  const auto opening = TakeRequests();
  ASSERT_EQ(opening.size(), 1u);
  EXPECT_NE(opening[0].find("GET /plain/"), std::string::npos);
  EXPECT_NE(opening[0].find("/key bytes=2-4 - -"), std::string::npos) << opening[0];
  EXPECT_EQ(Read(*opened.version, RangeRequest::Suffix(2)), "89");
  const auto reading = TakeRequests();
  ASSERT_EQ(reading.size(), 1u);
  EXPECT_NE(reading[0].find("bytes=8-9 \""), std::string::npos) << "If-Match: " << reading[0];
  Open(*store, RangeRequest::Suffix(3));
  Open(*store, RangeRequest::At(0, 0));
  const auto others = TakeRequests();
  ASSERT_EQ(others.size(), 2u);
  EXPECT_NE(others[0].find("bytes=-3 "), std::string::npos);
  EXPECT_NE(others[1].find("bytes=0-0 "), std::string::npos);
}

TEST_F(HttpStoreTest, PassingFaultsAreRetried) {
  Put("key", "0123456789");
  const auto store = Store();
  for (const char* faults :
       {"status 503\nstatus 429\n", "status 500\nstatus 502\n", "drop\ndrop\n", "cut 1\ncut 0\n"}) {
    Break(faults);
    EXPECT_EQ(TextOf(Open(*store).first), "0123") << faults;
    EXPECT_EQ(TakeRequests().size(), 3u) << faults;
  }
  const auto version = Open(*store).version;
  Break("status 504\ncut 2\n");
  EXPECT_EQ(Read(*version, RangeRequest::At(1, 5)), "12345");
}

// As S3 and GCS answer by https of buckets that may be read and not listed.
TEST_F(HttpStoreTest, ADeniedObjectIsMissingWhereABucketMayBeReadAndNotListed) {
  const std::string denied =
      "status 403;body <Error><Code>AccessDenied</Code></Error>;field Content-Length";
  Put("key", "0123456789");
  const auto text_of = [&](ObjectStore& store, const std::string& fault) -> std::string {
    Break(fault);
    const auto opened = TryOpen(store, RangeRequest::At(0, 4));
    if (!opened) return std::string(ErrorCodeName(opened.error().code));
    return opened->version ? "found" : "missing";
  };
  const auto store = Store();
  EXPECT_EQ(text_of(*store, denied), "permission denied") << "nothing has been read";
  EXPECT_EQ(text_of(*store, ""), "found");
  EXPECT_EQ(text_of(*store, denied), "missing");
  EXPECT_EQ(text_of(*store, "status 403"), "permission denied") << "the document is another one";
  EXPECT_EQ(text_of(*store, "status 403;body blocked;field Content-Length"), "permission denied");
  EXPECT_EQ(text_of(*store, "status 401"), "permission denied");
  const std::string url = SharedProxy().http() + "/plain/" + directory_;
  std::string with_user = url;
  with_user.insert(with_user.find("://") + 3, "user:password@");
  for (const std::string& secret : {url + "?signature=1", with_user}) {
    const auto signed_store = StoreAt(secret);
    EXPECT_EQ(text_of(*signed_store, ""), "found");
    EXPECT_EQ(text_of(*signed_store, denied), "permission denied") << "it may have expired";
  }
}

TEST_F(HttpStoreTest, AServerThatAsksForMoreTimeThanThereIsGetsIt) {
  Put("key", "0123456789");
  Break("status 503; field Retry-After 3600\n");
  const auto opened = TryOpen(*Store(), RangeRequest::At(0, 4));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(opened.error().message.find("503"), std::string::npos);
  EXPECT_EQ(TakeRequests().size(), 1u);
}

TEST_F(HttpStoreTest, StatusesAreMissingDeniedOrUnavailable) {
  Put("key", "0123456789");
  const auto store = Store();
  for (const char* status : {"404", "410"}) {
    Break(std::string("status ") + status);
    const auto opened = TryOpen(*store, RangeRequest::At(0, 4));
    ASSERT_TRUE(opened) << status;
    EXPECT_FALSE(opened->version) << status;
  }
  for (const char* status : {"401", "403"}) {
    Break(std::string("status ") + status);
    const auto opened = TryOpen(*store, RangeRequest::At(0, 4));
    ASSERT_FALSE(opened) << status;
    EXPECT_EQ(opened.error().code, ErrorCode::kPermissionDenied) << status;
  }
  for (const char* status : {"204", "304", "400", "418"}) {
    Break(std::string("status ") + status + "\nstatus " + status);
    const auto opened = TryOpen(*store, RangeRequest::At(0, 4));
    ASSERT_FALSE(opened) << status;
    EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable) << status;
  }
  const auto version = Open(*store).version;
  for (const char* status : {"404", "412", "416"}) {
    Break(std::string("status ") + status);
    EXPECT_EQ(Read(*version, RangeRequest::At(0, 4)), std::nullopt) << status;
  }
}

TEST_F(HttpStoreTest, AWrongRangeIsAskedForAgainAndNeverUsed) {
  Put("key", "0123456789");
  const auto store = Store();
  const auto version = Open(*store).version;
  for (const std::string fault :
       {"field Content-Range bytes 1-4/10", "field Content-Range bytes 0-3/*",
        "field Content-Range", "ask Range bytes=1-4", "ask Range bytes=0-2"}) {
    Break(fault + '\n');
    EXPECT_EQ(TextOf(Open(*store).first), "0123") << fault;
    Break(fault + '\n');
    EXPECT_EQ(Read(*version, RangeRequest::At(0, 4)), "0123") << fault;
    Break(fault + '\n' + fault + '\n');
    const auto opened = TryOpen(*store, RangeRequest::At(0, 4));
    ASSERT_FALSE(opened) << fault;
    EXPECT_NE(opened.error().message.find("the server breaks HTTP"), std::string::npos);
    Break(fault + '\n' + fault + '\n');
    EXPECT_FALSE(version->Read(RangeRequest::At(0, 4), Deadline::None())) << fault;
  }
}

TEST_F(HttpStoreTest, AServerThatIgnoresConditionsIsSeenThrough) {
  Put("key", "0123456789");
  const auto store = Store();
  const auto tagged = Open(*store).version;
  Put("key", "abcdefghij");
  Break("ask If-Match\n");
  EXPECT_EQ(Read(*tagged, RangeRequest::At(0, 4)), std::nullopt) << "another ETag";
  const auto sized = Open(*store).version;
  Put("key", "abcdefghijk");
  Break("ask If-Match; field ETag; field Last-Modified\n");
  EXPECT_EQ(Read(*sized, RangeRequest::At(0, 4)), std::nullopt) << "another total";
  Put("key", "ab");
  Break("ask If-Match; field ETag; field Last-Modified\n");
  EXPECT_EQ(Read(*sized, RangeRequest::At(0, 4)), std::nullopt) << "a truncated range";
}

TEST_F(HttpStoreTest, AWeakTagIsComparedAndTheDateIsTheCondition) {
  Put("key", "0123456789");
  const auto store = Store();
  Break("field ETag W/\"1\"\n");
  const auto version = Open(*store).version;
  TakeRequests();
  Break("field ETag W/\"1\"\n");
  EXPECT_EQ(Read(*version, RangeRequest::At(0, 4)), "0123");
  const auto requests = TakeRequests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_NE(requests[0].find(" - Wed, 01 Jan 2020"), std::string::npos) << requests[0];
  Break("field ETag W/\"2\"\n");
  EXPECT_EQ(Read(*version, RangeRequest::At(0, 4)), std::nullopt);
  Put("key", "abcdefghij");
  EXPECT_EQ(Read(*version, RangeRequest::At(0, 4)), std::nullopt);
}

TEST_F(HttpStoreTest, ABrokenSuffixRangeIsAskedForFromTheStart) {
  Put("key", "0123456789");
  const auto store = Store();
  Break("ask Range bytes=0-3\n");  // what s3rver makes of "bytes=-3"
  EXPECT_EQ(TextOf(Open(*store, RangeRequest::Suffix(3)).first), "789");
  EXPECT_EQ(TakeRequests().size(), 3u);
  EXPECT_EQ(TextOf(Open(*store, RangeRequest::Suffix(3)).first), "789");
  const auto requests = TakeRequests();
  ASSERT_EQ(requests.size(), 2u) << "the store has learned";
  EXPECT_NE(requests[1].find("bytes=7-9"), std::string::npos);
}

TEST_F(HttpStoreTest, WithoutRangesObjectsAreReadWholeUpToALimit) {
  Put("key", "0123456789");
  HttpStoreOptions options;
  options.whole_object_bytes = 10;
  const auto store = Store("/whole/", options);
  const auto opened = Open(*store, RangeRequest::At(2, 3));
  EXPECT_EQ(TextOf(opened.first), "234");
  EXPECT_EQ(Read(*opened.version, RangeRequest::Suffix(2)), "89");
  Put("key", "0123456789+");
  EXPECT_EQ(Read(*opened.version, RangeRequest::At(0, 2)), std::nullopt);
  const auto larger = TryOpen(*store, RangeRequest::At(2, 3));
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(larger.error().message.find("does not support range requests"), std::string::npos);
  EXPECT_NE(larger.error().message.find("11 bytes"), std::string::npos) << larger.error().message;
  const auto info = store->Stat("key", Deadline::None());
  ASSERT_TRUE(info && *info);
  EXPECT_EQ((*info)->size, 11u);
}

// What a cache or a gateway sends that has lost the object: never a shard without a chunk.
TEST_F(HttpStoreTest, AnAnswerOfNoBytesIsBelievedWithAValidatorOnly) {
  Put("key", "0123456789");
  const auto store = Store();
  const std::string nothing = "status 200\n";
  Break(nothing);
  EXPECT_EQ(TextOf(Open(*store).first), "0123") << "it may be one server of several";
  for (const auto& first : {RangeRequest::At(0, 4), RangeRequest::At(0, 0), RangeRequest::Suffix(4),
                            RangeRequest::At(4, 4)}) {
    Break(nothing + nothing);
    const auto opened = TryOpen(*store, first);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(opened.error().system_errno, EPROTO);
    EXPECT_NE(opened.error().message.find("/key: the server breaks HTTP: its answer 200 is empty"),
              std::string::npos)
        << opened.error().message;
  }
  Break(nothing + nothing);
  EXPECT_FALSE(store->Stat("key", Deadline::None()));
  const auto version = Open(*store).version;
  Break(nothing);
  EXPECT_EQ(Read(*version, RangeRequest::At(0, 4)), std::nullopt) << "changed: it is opened again";
  Break("status 200; field Last-Modified Wed, 01 Jan 2020 00:00:00 GMT\n");
  EXPECT_EQ(Open(*store, RangeRequest::At(0, 4)).version->info().size, 0u);
  // Without a validator the refused range is the proof, unless it says the opposite.
  Break("status 416\nstatus 200\n");
  EXPECT_EQ(Open(*store, RangeRequest::At(0, 4)).version->info().size, 0u);
  Break("status 416; field Content-Range bytes */0\nstatus 200\n");
  EXPECT_EQ(Open(*store, RangeRequest::At(0, 4)).version->info().size, 0u);
  const std::string lie = "status 416; field Content-Range bytes */10\n";
  Break(lie + nothing + nothing);
  const auto opened = TryOpen(*store, RangeRequest::At(0, 4));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("the object has 10 bytes"), std::string::npos);
  Break("status 404\n");
  const auto missing = TryOpen(*store, RangeRequest::At(0, 4));
  EXPECT_TRUE(missing && !missing->version);
}

// nginx answers a range of an empty file with 200, others with 416.
TEST_F(HttpStoreTest, AnEmptyObjectIsOne) {
  Put("key", "");
  const auto store = Store();
  for (const auto& first : {RangeRequest::At(0, 4), RangeRequest::Suffix(4)}) {
    const auto opened = Open(*store, first);
    EXPECT_EQ(opened.version->info().size, 0u);
    EXPECT_EQ(Read(*opened.version, RangeRequest::At(0, 4)), "");
  }
  Break("field Content-Range bytes 0-0/0\nfield Content-Range bytes 0-0/0\n");
  EXPECT_EQ(Open(*store).version->info().size, 0u) << "of a 200 it says nothing";
}

std::vector<std::string> StatusesOf(const std::string& path, const std::string& requests) {
  std::vector<std::string> statuses;
  std::size_t at = 0;
  while ((at = requests.find(path, at)) != std::string::npos) {
    at = requests.find('\n', at);
    if (at == std::string::npos) break;
    statuses.push_back(requests.substr(at - 3, 3));
  }
  return statuses;
}

TEST_F(HttpStoreTest, AWholeObjectIsKeptAndSentOnce) {
  Put("key", "0123456789");
  const std::size_t before = SharedNginx().Requests().size();
  const auto store = Store("/whole/");
  const auto version = Open(*store).version;
  EXPECT_EQ(TextOf(Open(*store, RangeRequest::At(4, 4)).first), "4567");
  EXPECT_EQ(Read(*version, RangeRequest::At(8, 2)), "89");
  // nginx writes of a request after it has answered.
  std::vector<std::string> statuses;
  for (int i = 0; i < 500 && statuses.size() < 3; ++i) {
    statuses = StatusesOf("/whole/" + directory_, SharedNginx().Requests().substr(before));
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(statuses, (std::vector<std::string>{"200", "304", "304"}));
}

TEST_F(HttpStoreTest, CompressionOnTheFlyIsNotAskedForAndUndone) {
  const std::string text(10000, 'x');
  Put("key", text);
  const auto store = Store("/gzip/");
  Open(*store);
  EXPECT_EQ(TakeRequests().size(), 1u) << "nginx leaves it alone unless a client accepts gzip";
  Break("ask Accept-Encoding gzip\n");
  const auto opened = Open(*store, RangeRequest::At(9990, 100));
  EXPECT_EQ(TextOf(opened.first), "xxxxxxxxxx");
  EXPECT_EQ(opened.version->info().size, 10000u);
}

TEST_F(HttpStoreTest, AnObjectThatIsStoredCompressedIsReadWholeAndDecoded) {
  const std::string text = "what the object is";
  for (const std::string encoding : {"gzip", "br", "zstd", "xz", "bz2", "bzip2"}) {
    const auto codec = CodecOfContentEncoding(encoding);
    ASSERT_TRUE(codec) << encoding;
    if (!codec->CanEncode()) continue;  // in a build without its library
    const auto bytes = AsBytes(text);
    Put("key", AsText(*codec->Encode(ByteVector(bytes.begin(), bytes.end()))));
    Break("field Content-Encoding " + encoding + "\nfield Content-Encoding " + encoding + "\n");
    const auto opened = Open(*Store(), RangeRequest::At(5, 3));
    EXPECT_EQ(TextOf(opened.first), "the") << encoding;
    EXPECT_EQ(opened.version->info().size, text.size());
  }
  const auto store = Store();
  Break("field Content-Encoding compress\nfield Content-Encoding compress\n");
  Put("key", "0123456789");
  const auto refused = TryOpen(*store, RangeRequest::At(5, 3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(refused.error().message.find("'compress'"), std::string::npos);
}

TEST_F(HttpStoreTest, WholeObjectsAreNotReadOnTheThreadOfTheNetwork) {
  for (const std::size_t size : {std::size_t{1000}, std::size_t{300'000}}) {
    Put("key", std::string(size, 'x'));
    const auto version = Open(*Store()).version;
    const auto thread_of_read = [&] {
      std::promise<std::thread::id> thread;
      version->StartRead(RangeRequest::At(2, 3), Deadline::None(), [&](Result<ReadResult> read) {
        EXPECT_TRUE(read && AsText(read->value.span()) == "xxx");
        thread.set_value(std::this_thread::get_id());
      });
      return thread.get_future().get();
    };
    const auto network = thread_of_read();
    EXPECT_EQ(thread_of_read(), network);
    Break("ask Range\nask Range\n");
    EXPECT_NE(thread_of_read(), network) << size;
    Break("");
  }
}

TEST_F(HttpStoreTest, ABombIsDefused) {
  Put("key", AsText(GzipEncode(ByteVector(1 << 20), 9)));
  HttpStoreOptions options;
  options.whole_object_bytes = 1 << 16;
  Break("field Content-Encoding gzip\nfield Content-Encoding gzip\n");
  const auto opened = TryOpen(*Store("/plain/", options), RangeRequest::At(0, 4));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(HttpStoreTest, EndlessAnswersEnd) {
  Put("key", "0123456789");
  HttpStoreOptions options;
  options.whole_object_bytes = 1 << 20;
  const auto store = Store("/plain/", options);
  for (const std::string fault :
       {"field Content-Length; endless", "field Content-Length 9999999999999; endless",
        "ask Range; field Content-Length; endless", "ask Range; field Content-Length 9999999999999",
        "headers"}) {
    Break(fault + '\n' + fault + '\n');
    const auto opened = TryOpen(*store, RangeRequest::At(0, 4));
    ASSERT_FALSE(opened) << fault;
    EXPECT_NE(opened.error().system_errno, ETIMEDOUT) << opened.error().message;
  }
}

TEST_F(HttpStoreTest, DeadlinesAndSignalsEndWaits) {
  Put("key", "0123456789");
  const auto store = Store();
  const auto version = Open(*store).version;
  Break("stall\nstall\nstall\nstall\nstall\nstall\n");
  const auto late = TryOpen(*store, RangeRequest::At(0, 4), Soon());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().system_errno, ETIMEDOUT);
  TakeRequests();
  std::stop_source signal;
  std::atomic<bool> ended = false;
  std::thread signalling([&] {
    while (!ended && TakeRequests().empty()) std::this_thread::yield();
    signal.request_stop();
  });
  const auto interrupted =
      version->Read(RangeRequest::At(0, 4), {steady_clock::time_point::max(), signal.get_token()});
  ended = true;
  signalling.join();
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().system_errno, EINTR);
}

TEST_F(HttpStoreTest, ASmallReadWithoutAnAnswerIsSentOnceMore) {
  Put("key", "0123456789");
  HttpStoreOptions options;
  options.hedging_delay = milliseconds(100);
  // A range that is too large for it: the answer to the open may be late as well.
  const auto version =
      Open(*Store("/plain/", options), RangeRequest::At(0, std::uint64_t{1} << 20)).version;
  TakeRequests();
  Break("stall\n");
  EXPECT_EQ(Read(*version, RangeRequest::At(2, 3)), "234");
  EXPECT_EQ(TakeRequests().size(), 2u);
}

TEST_F(HttpStoreTest, AServerThatIsGoneFailsWithinTheDeadlineAndComesBack) {
  auto server = std::make_unique<PythonServer>();
  const std::string url = server->http();
  ASSERT_FALSE(url.empty());
  const auto store = StoreAt(url);
  server.reset();
  const auto opened = TryOpen(*store, RangeRequest::At(0, 4), Soon());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find(url + "/key"), std::string::npos);
}

// Each reader keeps its version, and a server without ranges sends the whole object for each read.
TEST_F(HttpStoreTest, ManyReadersOfLargeObjectsWithoutRangesTakeBoundedMemory) {
  constexpr std::size_t kReaders = 64;
  constexpr std::size_t kObjectBytes = std::size_t{2} << 20;
  PythonServer server;
  ASSERT_FALSE(server.http().empty());
  for (std::size_t i = 0; i < kReaders; ++i) {
    server.files().Put(std::to_string(i), std::string(kObjectBytes, static_cast<char>('0' + i)));
  }
  HttpStoreOptions options;
  options.connections_per_host = 4;
  options.whole_object_bytes = 2 * kObjectBytes;
  options.whole_objects_cached_bytes = 4 * kObjectBytes;  // so that two are fetched at a time
  options.request_timeout = std::chrono::minutes(2);
  const auto store = StoreAt(server.http(), options);
  const auto taken = [] {
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  const std::size_t before = taken();
  std::atomic<std::size_t> most{0};
  std::atomic<int> wrong{0};
  const auto read = [&](std::size_t i) {
    const auto opened = store->Open(std::to_string(i), RangeRequest::At(7, 5), Deadline::None());
    const std::string expected(5, static_cast<char>('0' + i));
    if (!opened || !opened->version || TextOf(opened->first) != expected) return void(++wrong);
    const auto again =
        opened->version->Read(RangeRequest::At(kObjectBytes - 5, 5), Deadline::None());
    if (!again || TextOf(again->value) != expected) ++wrong;
    std::size_t now = taken() - before, seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) continue;
    std::this_thread::sleep_for(milliseconds(1));
  };
  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < kReaders; ++i) readers.emplace_back([&read, i] { read(i); });
  }
  EXPECT_EQ(wrong, 0);
  // What is kept, two that are fetched, each of which may be growing, and what is none of these.
  EXPECT_LE(most, 8 * kObjectBytes + (std::size_t{16} << 20));
}

TEST_F(HttpStoreTest, ManyReadsAtOnceEndWithTheirBytes) {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  Put("key", text);
  const auto store = StoreAt(SharedNginx().http() + "/plain/" + directory_);
  const auto version = Open(*store).version;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t ended = 0;
  std::string read(256, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    version->StartRead(RangeRequest::At(i, 1), Deadline::None(), [&, i](Result<ReadResult> result) {
      const std::lock_guard lock(mutex);
      if (result && result->value.size() == 1) read[i] = static_cast<char>(result->value.data()[0]);
      ++ended;
      changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return ended == text.size(); });
  EXPECT_EQ(read, text);
}

TEST_F(HttpStoreTest, AServerThatThrottlesIsWaitedFor) {
  Put("key", "0123456789");
  const auto store = Store("/few/");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(TextOf(Open(*store).first), "0123");
}

TEST_F(HttpStoreTest, CredentialsGoToTheirHostOnlyAndIntoNoMessage) {
  Put("key", "0123456789");
  const std::string host = SharedNginx().http().substr(7);
  const auto requests_of = [&](const std::string& location) {
    const std::size_t before = SharedNginx().Requests().size();
    const auto store =
        StoreAt("http://user:hunter2@" + host + location + directory_ + "?signature=hunter3");
    EXPECT_EQ(TextOf(Open(*store).first), "0123");
    EXPECT_EQ(store->Describe("key").find("hunter"), std::string::npos);
    EXPECT_EQ(store->Describe("key"), "http://" + host + location + directory_ + "/key");
    // The server notes a request after its answer.
    const auto noted = [&] { return SharedNginx().Requests().substr(before); };
    for (int i = 0; i < 1000 && !noted().ends_with(" 206\n"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return noted();
  };
  const std::string authorization = "Basic dXNlcjpodW50ZXIy";
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(authorization, at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  const std::string plain = requests_of("/plain/");
  EXPECT_EQ(count(plain), 1u) << plain;
  EXPECT_NE(plain.find("?signature=hunter3"), std::string::npos);
  EXPECT_EQ(count(requests_of("/near/")), 2u) << "the same origin";
  EXPECT_EQ(count(requests_of("/far/")), 1u) << "another origin";
  const auto denied = TryOpen(*StoreAt("http://user:hunter2@" + host + "/loop/?signature=hunter3"),
                              RangeRequest::At(0, 4));
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().message.find("hunter"), std::string::npos) << denied.error().message;
  EXPECT_NE(denied.error().message.find("more than 5 times"), std::string::npos);
}

TEST_F(HttpStoreTest, CertificatesAreVerifiedAndHttpsStaysHttps) {
  Put("key", "0123456789");
  const std::string url = SharedNginx().https();
  ::unsetenv("CURL_CA_BUNDLE");
  const auto unknown = TryOpen(*StoreAt(url + "/plain/" + directory_), RangeRequest::At(0, 4));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kPermissionDenied) << unknown.error().message;
  ::setenv("CURL_CA_BUNDLE", SharedNginx().Authority().c_str(), 1);
  EXPECT_EQ(TextOf(Open(*StoreAt(url + "/plain/" + directory_)).first), "0123");
  const auto down = TryOpen(*StoreAt(url + "/down/" + directory_), RangeRequest::At(0, 4));
  ::unsetenv("CURL_CA_BUNDLE");
  ASSERT_FALSE(down);
  EXPECT_NE(down.error().message.find("from https to plain http"), std::string::npos);
}

TEST_F(HttpStoreTest, TheEnvironmentNamesTheCertificateAuthorities) {
  Put("key", "0123456789");
  const std::string url = SharedNginx().https() + "/plain/" + directory_;
  const std::string authority = SharedNginx().Authority();
  const TemporaryDirectory hashed;
  const std::string copy = "cp " + authority + ' ' + hashed.path() + "/$(openssl x509 -in " +
                           authority + " -noout -hash).0";
  ASSERT_EQ(std::system(copy.c_str()), 0);
  for (const auto& [variable, value] :
       {std::pair<const char*, std::string>{"SSL_CERT_FILE", authority},
        {"AWS_CA_BUNDLE", authority},
        {"SSL_CERT_DIR", hashed.path()}}) {
    ::setenv(variable, value.c_str(), 1);
    const auto opened = TryOpen(*StoreAt(url), RangeRequest::At(0, 4));
    ::unsetenv(variable);
    ASSERT_TRUE(opened) << variable << ": " << opened.error().message;
    EXPECT_EQ(TextOf(opened->first), "0123") << variable;
    EXPECT_FALSE(TryOpen(*StoreAt(url), RangeRequest::At(0, 4))) << variable;
  }
}

TEST_F(HttpStoreTest, KeysWithAnyCharactersAreFound) {
  for (const std::string key : {"a b", "100%", "q?x=1", "#", "\xc3\xa9", "a+b&c", "~x;y"}) {
    Put(key, key);
    const auto whole = ReadWhole(*Store(), key, 100, Deadline::None());
    ASSERT_TRUE(whole && *whole) << key;
    EXPECT_EQ((*whole)->text, key);
  }
}

TEST(OpenHttpStoreTest, RefusesOtherUrls) {
  HttpStoreOptions only_https;
  only_https.allow_http = false;
  EXPECT_FALSE(OpenHttpStore("http://host/path", only_https));
  EXPECT_TRUE(OpenHttpStore("https://host/path", only_https));
  EXPECT_FALSE(OpenHttpStore("s3://bucket/key", {}));
  EXPECT_FALSE(OpenHttpStore("/a/directory", {}));
}

}  // namespace
}  // namespace unshard
