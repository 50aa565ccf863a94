// What every store does, whatever stands below it: run for each store and each decorator.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <stop_token>
#include <thread>

#include "store/cache/caching_store.h"
#include "store/gcs/gcs_store.h"
#include "store/http/http_store.h"
#include "store/local/file_store.h"
#include "store/s3/s3_store.h"
#include "store/zip/zip_store.h"
#include "tests/support/counting_store.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/faulty_store.h"
#include "tests/support/http_servers.h"
#include "tests/support/memory_store.h"
#include "tests/support/s3_server.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/zip_archives.h"

namespace unshard {
namespace {

// A store, and how its objects come and go. `base` lives as long as they do.
struct Subject {
  std::shared_ptr<ObjectStore> store;
  std::function<void(const std::string&, std::string_view)> put;
  std::function<void(const std::string&)> remove;
  // Same bytes, put again, are another version.
  bool tells_equal_bytes_apart = true;
  // Open fails for a directory; else it is missing.
  bool open_sees_directories = true;
  // Without its server, which tests/run installs, there is no store.
  const char* missing_server = nullptr;
};

Subject Without(const char* server) {
  Subject subject;
  subject.missing_server = server;
  return subject;
}

Subject Memory() {
  auto store = std::make_shared<MemoryStore>();
  return {store, [store](const std::string& key, std::string_view text) { store->Put(key, text); },
          [store](const std::string& key) { store->Remove(key); }};
}

Subject Files() {
  auto directory = std::make_shared<TemporaryDirectory>();
  return {
      OpenFileStore(directory->path(), 2).value_or(nullptr),
      [directory](const std::string& key, std::string_view text) { directory->Replace(key, text); },
      [directory](const std::string& key) { directory->Remove(key); }};
}

// As a store over a network: a version that was replaced is gone.
Subject Remote() {
  Capabilities capabilities;
  capabilities.keeps_replaced_versions = false;
  auto store = std::make_shared<MemoryStore>(capabilities);
  return {store, [store](const std::string& key, std::string_view text) { store->Put(key, text); },
          [store](const std::string& key) { store->Remove(key); }};
}

// The store of `url`/N, where the server has the directory N of `files`. Each subject has its own.
Subject Served(ServedDirectory& files, const std::string& url) {
  static int subjects = 0;
  const std::string directory = std::to_string(++subjects);
  return {OpenHttpStore(url + '/' + directory, {}).value_or(nullptr),
          [&files, directory](const std::string& key, std::string_view text) {
            files.Put(directory + '/' + key, text);
          },
          [&files, directory](const std::string& key) { files.Remove(directory + '/' + key); }};
}

// One server for all tests: it ends with this process.
Nginx& SharedNginx() {
  static Nginx nginx;
  return nginx;
}

Subject OfNginx(const char* location) {
  return Served(SharedNginx().files(), SharedNginx().http() + location);
}

Subject HttpPlain() { return OfNginx("/plain"); }
Subject HttpGzip() { return OfNginx("/gzip"); }
Subject HttpWithoutRanges() { return OfNginx("/whole"); }
Subject HttpWithoutTags() { return OfNginx("/untagged"); }
Subject HttpRedirected() { return OfNginx("/near"); }
Subject HttpRedirectedToAnotherHost() { return OfNginx("/far"); }

// The store of s3://bucket/N. Each subject has its own.
Subject S3() {
  if (!HasVersitygw()) return Without("versitygw");
  static Versitygw server;
  static int subjects = 0;
  const std::string directory = std::to_string(++subjects);
  S3Options options;
  options.environment = server.ClientEnvironment();
  Subject subject{OpenS3Store("s3://bucket/" + directory, options).value_or(S3Store{}).objects,
                  [directory](const std::string& key, std::string_view text) {
                    server.Put(directory + '/' + key, text);
                  },
                  [directory](const std::string& key) { server.Remove(directory + '/' + key); }};
  subject.tells_equal_bytes_apart = false;  // an ETag is a digest of the bytes
  subject.open_sees_directories = false;
  return subject;
}

Subject HttpOfPython() {
  static PythonServer python;
  return Served(python.files(), python.http());
}

// The store of gs://bucket/N. Each subject has its own.
Subject Gcs() {
  static FakeGcs server;
  if (server.is_missing()) return Without("fake-gcs-server");
  static int subjects = 0;
  const std::string directory = std::to_string(++subjects);
  const auto store = OpenGcsStore("gs://bucket/" + directory, server.environment(), {});
  Subject subject{store ? store->objects : nullptr,
                  [directory](const std::string& key, std::string_view text) {
                    server.Put(directory + '/' + key, text);
                  },
                  [directory](const std::string& key) { server.Remove(directory + '/' + key); }};
  subject.open_sees_directories = false;
  return subject;
}

// With a cache on a disk, in which nothing is yet.
Subject Cached() {
  auto directory = std::make_shared<TemporaryDirectory>();
  Subject subject = Remote();
  auto cache = DiskCache::Open(directory->At("cache"), {std::uint64_t{16} << 20}).value_or(nullptr);
  subject.store = std::make_shared<CachingStore>(std::move(subject.store), std::move(cache));
  subject.remove = [directory, remove = subject.remove](const std::string& key) { remove(key); };
  return subject;
}

template <class Decorator>
Subject Decorated() {
  Subject subject = Files();
  subject.store = std::make_shared<Decorator>(std::move(subject.store));
  return subject;
}

// The entries of an archive in the store of `subject`, which is written anew each time.
Subject ZipIn(Subject subject, bool is_deflated) {
  const auto files = std::make_shared<std::map<std::string, std::string>>();
  const auto write = [files, is_deflated, put = subject.put] {
    std::vector<ZipFile> entries;
    for (const auto& [name, text] : *files) entries.push_back({name, text, is_deflated});
    put("archive.zip", ZipOf(entries));
  };
  write();
  Subject zip;
  zip.store = std::make_shared<ZipStore>(subject.store, "archive.zip", "", ZipStoreOptions{});
  zip.put = [files, write](const std::string& key, std::string_view text) {
    files->insert_or_assign(key, text);
    write();
  };
  zip.remove = [files, write](const std::string& key) {
    files->erase(key);
    write();
  };
  return zip;
}
Subject ZipInFiles() { return ZipIn(Files(), false); }
Subject DeflatedZipInFiles() { return ZipIn(Files(), true); }
Subject ZipInRemote() { return ZipIn(Remote(), false); }
Subject ZipInHttp() { return ZipIn(HttpPlain(), false); }

struct Maker {
  const char* name;
  Subject (*make)();
};

class ObjectStoreContract : public testing::TestWithParam<Maker> {
 protected:
  void SetUp() override {
    subject_ = GetParam().make();
    if (subject_.missing_server != nullptr) {
      GTEST_SKIP() << subject_.missing_server << " is missing: tests/run installs it";
    }
    ASSERT_TRUE(subject_.store);
  }
  ObjectStore& store() { return *subject_.store; }
  const Subject& subject() const { return subject_; }
  void Put(const std::string& key, std::string_view text) { subject_.put(key, text); }
  void Remove(const std::string& key) { subject_.remove(key); }
  ObjectStore::Opened Open(const std::string& key,
                           const RangeRequest& first = RangeRequest::At(0, 0)) {
    auto opened = store().Open(key, first, Deadline::None());
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(opened && opened->version) << key;
    return opened ? *std::move(opened) : ObjectStore::Opened();
  }
  // What every listing of a store is that cannot list.
  void ExpectsNoEntries(const std::string& key) {
    const auto fails = [](const ListEntry& entry) {
      ADD_FAILURE() << entry.name;
      return true;
    };
    EXPECT_TRUE(store().List(key, Deadline::None(), fails));
    EXPECT_TRUE(store().ListFrom(key, 1, Deadline::None(), fails));
  }
  static std::string TextOf(const Bytes& bytes) { return std::string(AsText(bytes.span())); }
  // What a version has there, if it is still to be had.
  static std::optional<std::string> Text(ObjectVersion& version, const RangeRequest& range) {
    const auto read = version.Read(range, Deadline::None());
    EXPECT_TRUE(read) << read.error().message;
    if (!read) return std::nullopt;
    EXPECT_EQ(read->object_size, version.info().size);
    if (read->state == ReadResult::State::kFound) return TextOf(read->value);
    EXPECT_TRUE(read->value.empty());
    return std::nullopt;
  }

 private:
  Subject subject_;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, ObjectStoreContract,
    testing::Values(Maker{"Memory", Memory}, Maker{"Remote", Remote}, Maker{"Files", Files},
                    Maker{"Cached", Cached}, Maker{"Counting", Decorated<CountingStore>},
                    Maker{"Faulty", Decorated<FaultyStore>}, Maker{"HttpPlain", HttpPlain},
                    Maker{"HttpGzip", HttpGzip}, Maker{"HttpWithoutRanges", HttpWithoutRanges},
                    Maker{"HttpWithoutTags", HttpWithoutTags},
                    Maker{"HttpRedirected", HttpRedirected},
                    Maker{"HttpRedirectedToAnotherHost", HttpRedirectedToAnotherHost},
                    Maker{"HttpOfPython", HttpOfPython}, Maker{"S3", S3}, Maker{"Gcs", Gcs},
                    Maker{"ZipInFiles", ZipInFiles},
                    Maker{"DeflatedZipInFiles", DeflatedZipInFiles},
                    Maker{"ZipInRemote", ZipInRemote}, Maker{"HttpWithZip", ZipInHttp}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(ObjectStoreContract, MissingIsAResultOfEveryMethod) {
  Put("file", "x");
  for (const char* key : {"absent", "absent/below", "file/below"}) {
    const auto info = store().Stat(key, Deadline::None());
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_FALSE(*info) << key;
    const auto opened = store().Open(key, RangeRequest::At(0, 10), Deadline::None());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(opened->version) << key;
    EXPECT_TRUE(opened->first.empty()) << key;
    int entries = 0;
    ASSERT_TRUE(store().List(key, Deadline::None(), [&](const ListEntry&) { return ++entries; }));
    EXPECT_EQ(entries, 0);
  }
}

TEST_P(ObjectStoreContract, AnOpenAndAReadGiveTheSameRangesCutAtTheEnd) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  Put("a/b", "0123456789");
  const std::vector<std::pair<RangeRequest, std::string>> cases = {
      {RangeRequest::At(0, 10), "0123456789"},
      {RangeRequest::At(3, 4), "3456"},
      {RangeRequest::At(8, 100), "89"},
      {RangeRequest::At(10, 1), ""},
      {RangeRequest::At(0, 0), ""},
      {RangeRequest::At(kMost, kMost), ""},
      {RangeRequest::Suffix(3), "789"},
      {RangeRequest::Suffix(0), ""},
      {RangeRequest::Suffix(kMost), "0123456789"}};
  for (const auto& [range, expected] : cases) {
    const auto opened = Open("a/b", range);
    EXPECT_EQ(TextOf(opened.first), expected);
    EXPECT_EQ(Text(*opened.version, range), expected);
  }
  Put("empty", "");
  EXPECT_TRUE(Open("empty", RangeRequest::At(0, 10)).first.empty());
  EXPECT_TRUE(Open("empty", RangeRequest::Suffix(10)).first.empty());
}

TEST_P(ObjectStoreContract, AVersionIsWhatStatTells) {
  Put("key", "0123456789");
  const auto info = store().Stat("key", Deadline::None());
  const auto opened = Open("key", RangeRequest::At(2, 3));
  ASSERT_TRUE(info && *info);
  EXPECT_EQ((*info)->kind, ObjectInfo::Kind::kFile);
  EXPECT_EQ((*info)->size, 10u);
  EXPECT_EQ(opened.version->info().size, 10u);
  EXPECT_EQ(opened.version->info().generation, (*info)->generation);
  EXPECT_EQ(opened.version->info().modified.tv_sec, (*info)->modified.tv_sec);
  EXPECT_EQ(opened.version->info().modified.tv_nsec, (*info)->modified.tv_nsec);
}

TEST_P(ObjectStoreContract, AReplacedOrRemovedVersionIsReadWholeOrNotAtAll) {
  const bool keeps = store().capabilities().keeps_replaced_versions;
  const auto expected = keeps ? std::optional<std::string>("old") : std::nullopt;
  Put("key", "old");
  const auto old = Open("key", RangeRequest::At(0, 100));
  EXPECT_EQ(TextOf(old.first), "old");
  EXPECT_EQ(Text(*old.version, RangeRequest::At(0, 100)), "old");
  Put("key", "newer");
  EXPECT_EQ(Text(*old.version, RangeRequest::At(0, 100)), expected);
  const auto now = Open("key", RangeRequest::At(0, 100));
  EXPECT_EQ(TextOf(now.first), "newer");
  Remove("key");
  EXPECT_EQ(Text(*old.version, RangeRequest::At(0, 100)), expected);
  Put("key", "old");
  if (subject().tells_equal_bytes_apart) {
    EXPECT_EQ(Text(*old.version, RangeRequest::At(0, 100)), expected) << "the same bytes again";
  }
  EXPECT_EQ(old.version->info().size, 3u);
}

TEST_P(ObjectStoreContract, GenerationsAreEqualForOneVersionOnly) {
  Put("key", "same");
  const auto first = Open("key").version;
  const auto second = Open("key", RangeRequest::At(0, 4)).version;
  Put("key", "same");
  const auto third = Open("key").version;
  EXPECT_EQ(first->info().generation, second->info().generation);
  if (subject().tells_equal_bytes_apart) {
    EXPECT_NE(first->info().generation, third->info().generation);
  }
  Put("key", "other");
  EXPECT_NE(first->info().generation, Open("key").version->info().generation);
}

TEST_P(ObjectStoreContract, AStartedReadEndsOnceAlsoWhereItsStarterHasLetGoOfTheVersion) {
  Put("key", "0123456789");
  std::promise<Result<ReadResult>> promise;
  std::atomic<int> ended{0};
  Open("key").version->StartRead(RangeRequest::At(2, 3), Deadline::None(),
                                 [&](Result<ReadResult> read) {
                                   if (++ended == 1) promise.set_value(std::move(read));
                                 });
  const auto read = promise.get_future().get();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(TextOf(read->value), "234");
  EXPECT_EQ(ended, 1);
}

TEST_P(ObjectStoreContract, SlicesLieWithinTheObjectAndHaveItsBytes) {
  Put("key", "0123456789");
  const auto opened = Open("key");
  EXPECT_FALSE(opened.version->Slice({5, 6}));
  EXPECT_FALSE(opened.version->Slice({~std::uint64_t{0}, 2}));
  opened.version->Prefetch({0, 10});
  const auto slice = opened.version->Slice({2, 3});  // none where the store has no files
  if (!slice) return;
  ByteVector bytes(3);
  ASSERT_TRUE(ReadSlice(*slice, bytes));
  EXPECT_EQ(AsText(bytes), "234");
}

TEST_P(ObjectStoreContract, ADirectoryIsNoFile) {
  Put("directory/file", "x");
  const auto info = store().Stat("directory", Deadline::None());
  ASSERT_TRUE(info && *info);
  EXPECT_EQ((*info)->kind, ObjectInfo::Kind::kDirectory);
  const auto opened = store().Open("directory", RangeRequest::At(0, 1), Deadline::None());
  if (!subject().open_sees_directories) {
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(opened->version);
    return;
  }
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(opened.error().message.find("directory"), std::string::npos);
}

TEST_P(ObjectStoreContract, ListsEntriesWithTheirKindAndStopsWhenTold) {
  Put("top/file", "x");
  Put("top/directory/below", "x");
  Put("other", "x");
  if (!store().capabilities().lists) return ExpectsNoEntries("top");
  std::set<std::pair<std::string, ObjectInfo::Kind>> entries;
  ASSERT_TRUE(store().List("top", Deadline::None(), [&](const ListEntry& entry) {
    return entries.emplace(entry.name, entry.kind).second;
  }));
  EXPECT_EQ(entries, (decltype(entries){{"file", ObjectInfo::Kind::kFile},
                                        {"directory", ObjectInfo::Kind::kDirectory}}));
  int visited = 0;
  ASSERT_TRUE(store().List("", Deadline::None(), [&](const ListEntry&) {
    ++visited;
    return false;
  }));
  EXPECT_EQ(visited, 1);
}

TEST_P(ObjectStoreContract, RefusesWhatIsNoKey) {
  for (const std::string key : {"..", ".", "a/../b", "/a", "a/", "a//b"}) {
    const auto info = store().Stat(key, Deadline::None());
    ASSERT_FALSE(info) << key;
    EXPECT_EQ(info.error().code, ErrorCode::kInvalidArgument) << key;
    EXPECT_FALSE(store().Open(key, RangeRequest::At(0, 1), Deadline::None())) << key;
  }
}

TEST_P(ObjectStoreContract, ListsAgainFromWhereAListingStopped) {
  std::set<std::string> expected;
  for (int i = 0; i < 20; ++i) expected.insert("file " + std::to_string(i));
  for (const std::string& name : expected) Put("top/" + name, "x");
  if (!store().capabilities().lists) return ExpectsNoEntries("top");
  std::set<std::string> seen;
  std::uint64_t resume = 0;
  for (bool more = true; more;) {
    more = false;
    int visited = 0;
    ASSERT_TRUE(store().ListFrom("top", resume, Deadline::None(), [&](const ListEntry& entry) {
      more = true;
      EXPECT_TRUE(seen.emplace(entry.name).second) << entry.name;
      resume = entry.resume;
      return ++visited < 7;
    }));
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(ObjectStoreContract, ReadsWholeObjectsWithinABound) {
  Put("key", "0123456789");
  const auto whole = ReadWhole(store(), "key", 10, Deadline::None());
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->text, "0123456789");
  const auto larger = ReadWhole(store(), "key", 9, Deadline::None());
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::kResourceExhausted);
  const auto missing = ReadWhole(store(), "absent", 9, Deadline::None());
  ASSERT_TRUE(missing);
  EXPECT_FALSE(*missing);
  const std::string large(3 << 20, 'x');
  Put("large", large);
  const auto in_two_requests = ReadWhole(store(), "large", 4 << 20, Deadline::None());
  ASSERT_TRUE(in_two_requests && *in_two_requests);
  EXPECT_TRUE((*in_two_requests)->text == large);
}

TEST(ObjectVersionTest, AReadThatTheStoreDoesNotAnswerEndsWithItsDeadline) {
  const auto store = std::make_shared<MemoryStore>();
  store->Put("key", "0123456789");
  const auto opened = store->Open("key", RangeRequest::At(0, 1), Deadline::None());
  ASSERT_TRUE(opened);
  store->HoldReads();
  Deadline deadline{std::chrono::steady_clock::now() + std::chrono::milliseconds(1), {}};
  const auto late = opened->version->Read(RangeRequest::At(0, 5), deadline);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().system_errno, ETIMEDOUT);
  std::stop_source signal;
  std::thread signalling([&] {
    while (store->held_reads() < 2) std::this_thread::yield();
    signal.request_stop();
  });
  deadline = {std::chrono::steady_clock::time_point::max(), signal.get_token()};
  const auto interrupted = opened->version->Read(RangeRequest::At(0, 5), deadline);
  signalling.join();
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().system_errno, EINTR);
  std::thread answering([&] {
    while (store->held_reads() < 3) std::this_thread::yield();
    store->ReleaseReads();  // also of those that nobody waits for any more
  });
  const auto read = opened->version->Read(RangeRequest::At(0, 5), Deadline::None());
  answering.join();
  ASSERT_TRUE(read);
  EXPECT_EQ(AsText(read->value.span()), "01234");
}

}  // namespace
}  // namespace unshard
