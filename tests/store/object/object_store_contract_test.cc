// What every store does, whatever stands below it: run for each store and each decorator.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "store/local/file_store.h"
#include "tests/support/counting_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// A store, and how its objects come and go. `base` lives as long as they do.
struct Subject {
  std::shared_ptr<ObjectStore> store;
  std::function<void(const std::string&, std::string_view)> put;
  std::function<void(const std::string&)> remove;
};

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

template <class Decorator>
Subject Decorated() {
  Subject subject = Files();
  subject.store = std::make_shared<Decorator>(std::move(subject.store));
  return subject;
}

struct Maker {
  const char* name;
  Subject (*make)();
};

class ObjectStoreContract : public testing::TestWithParam<Maker> {
 protected:
  void SetUp() override {
    subject_ = GetParam().make();
    ASSERT_TRUE(subject_.store);
  }
  ObjectStore& store() { return *subject_.store; }
  void Put(const std::string& key, std::string_view text) { subject_.put(key, text); }
  void Remove(const std::string& key) { subject_.remove(key); }
  std::string Text(const std::string& key, const RangeRequest& range) {
    const auto read = store().Read(key, {range, std::nullopt});
    EXPECT_TRUE(read) << read.error().message;
    return read ? std::string(AsText(read->value.span())) : std::string();
  }

 private:
  Subject subject_;
};

INSTANTIATE_TEST_SUITE_P(Stores, ObjectStoreContract,
                         testing::Values(Maker{"Memory", Memory}, Maker{"Files", Files},
                                         Maker{"Counting", Decorated<CountingStore>},
                                         Maker{"Faulty", Decorated<FaultyStore>}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(ObjectStoreContract, MissingIsAResultOfEveryMethod) {
  Put("file", "x");
  for (const char* key : {"absent", "absent/below", "file/below"}) {
    const auto info = store().Stat(key);
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_FALSE(*info) << key;
    const auto opened = store().Open(key);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(*opened) << key;
    const auto read = store().Read(key, {RangeRequest::At(0, 1), std::nullopt});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->state, ReadResult::State::kMissing) << key;
    int entries = 0;
    ASSERT_TRUE(store().List(key, [&](const ListEntry&) { return ++entries; }));
    EXPECT_EQ(entries, 0);
  }
}

TEST_P(ObjectStoreContract, ReadsRangesAndCutsThemAtTheEnd) {
  Put("a/b", "0123456789");
  EXPECT_EQ(Text("a/b", RangeRequest::At(0, 10)), "0123456789");
  EXPECT_EQ(Text("a/b", RangeRequest::At(3, 4)), "3456");
  EXPECT_EQ(Text("a/b", RangeRequest::At(8, 100)), "89");
  EXPECT_EQ(Text("a/b", RangeRequest::At(10, 1)), "");
  EXPECT_EQ(Text("a/b", RangeRequest::At(~std::uint64_t{0}, ~std::uint64_t{0})), "");
  EXPECT_EQ(Text("a/b", RangeRequest::Suffix(3)), "789");
  EXPECT_EQ(Text("a/b", RangeRequest::Suffix(~std::uint64_t{0})), "0123456789");
}

TEST_P(ObjectStoreContract, AReadTellsSizeAndGenerationOfTheObject) {
  Put("key", "0123456789");
  const auto info = store().Stat("key");
  const auto read = store().Read("key", {RangeRequest::At(2, 3), std::nullopt});
  ASSERT_TRUE(info && *info && read);
  EXPECT_EQ((*info)->kind, ObjectInfo::Kind::kFile);
  EXPECT_EQ((*info)->size, 10u);
  EXPECT_EQ(read->object_size, 10u);
  EXPECT_EQ(read->generation, (*info)->generation);
}

TEST_P(ObjectStoreContract, AConditionalReadRefusesAnotherVersion) {
  Put("key", "old");
  const auto old = store().Read("key", {RangeRequest::At(0, 3), std::nullopt});
  ASSERT_TRUE(old);
  const auto again = store().Read("key", {RangeRequest::At(0, 3), old->generation});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->state, ReadResult::State::kFound);
  Put("key", "new");
  const auto changed = store().Read("key", {RangeRequest::At(0, 3), old->generation});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->state, ReadResult::State::kConditionFailed);
  EXPECT_TRUE(changed->value.empty());
  EXPECT_NE(changed->generation, old->generation);
}

TEST_P(ObjectStoreContract, AHandleReadsItsVersionAfterTheObjectWasReplacedAndRemoved) {
  Put("key", "old");
  const auto handle = store().Open("key");
  ASSERT_TRUE(handle && *handle);
  const auto expect_old = [&] {
    const auto read = (*handle)->Read(RangeRequest::At(0, 100));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->state, ReadResult::State::kFound);
    EXPECT_EQ(AsText(read->value.span()), "old");
  };
  expect_old();
  Put("key", "newer");
  expect_old();
  Remove("key");
  expect_old();
  EXPECT_EQ((*handle)->info().size, 3u);
}

TEST_P(ObjectStoreContract, GenerationsAreEqualForOneVersionOnly) {
  Put("key", "same");
  const auto first = store().Open("key");
  const auto second = store().Open("key");
  Put("key", "same");
  const auto third = store().Open("key");
  ASSERT_TRUE(first && *first && second && *second && third && *third);
  EXPECT_EQ((*first)->info().generation, (*second)->info().generation);
  EXPECT_NE((*first)->info().generation, (*third)->info().generation);
}

TEST_P(ObjectStoreContract, ADirectoryIsNoFile) {
  Put("directory/file", "x");
  const auto info = store().Stat("directory");
  ASSERT_TRUE(info && *info);
  EXPECT_EQ((*info)->kind, ObjectInfo::Kind::kDirectory);
  const auto opened = store().Open("directory");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(opened.error().message.find("directory"), std::string::npos);
}

TEST_P(ObjectStoreContract, ListsEntriesWithTheirKindAndStopsWhenTold) {
  Put("top/file", "x");
  Put("top/directory/below", "x");
  Put("other", "x");
  std::set<std::pair<std::string, ObjectInfo::Kind>> entries;
  ASSERT_TRUE(store().List("top", [&](const ListEntry& entry) {
    return entries.emplace(entry.name, entry.kind).second;
  }));
  EXPECT_EQ(entries, (decltype(entries){{"file", ObjectInfo::Kind::kFile},
                                        {"directory", ObjectInfo::Kind::kDirectory}}));
  int visited = 0;
  ASSERT_TRUE(store().List("", [&](const ListEntry&) {
    ++visited;
    return false;
  }));
  EXPECT_EQ(visited, 1);
}

TEST_P(ObjectStoreContract, RefusesWhatIsNoKey) {
  for (const std::string key : {"..", ".", "a/../b", "/a", "a/", "a//b"}) {
    const auto info = store().Stat(key);
    ASSERT_FALSE(info) << key;
    EXPECT_EQ(info.error().code, ErrorCode::kInvalidArgument) << key;
    EXPECT_FALSE(store().Open(key)) << key;
  }
}

TEST_P(ObjectStoreContract, ReadsWholeObjectsWithinABound) {
  Put("key", "0123456789");
  const auto whole = ReadWhole(store(), "key", 10);
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->text, "0123456789");
  const auto large = ReadWhole(store(), "key", 9);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kResourceExhausted);
  const auto missing = ReadWhole(store(), "absent", 9);
  ASSERT_TRUE(missing);
  EXPECT_FALSE(*missing);
}

}  // namespace
}  // namespace unshard
