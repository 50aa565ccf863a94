// Entries as objects: requests, damage, methods, and archives that are replaced.
#include "store/zip/zip_store.h"

#include <gtest/gtest.h>

#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/zip_archives.h"

namespace unshard {
namespace {

constexpr const char* kKey = "folder/data.zip";

std::shared_ptr<MemoryStore> RemoteMemory() {
  Capabilities capabilities;
  capabilities.keeps_replaced_versions = false;
  return std::make_shared<MemoryStore>(capabilities);
}

std::shared_ptr<ZipStore> Zip(std::shared_ptr<ObjectStore> below, ZipStoreOptions options = {},
                              const std::string& inside = "") {
  return std::make_shared<ZipStore>(std::move(below), kKey, inside, options);
}

// The text of a file, or the message of the failure; "missing" where it is.
std::string TextOf(ObjectStore& store, const std::string& key) {
  const auto whole = ReadWhole(store, key, std::uint64_t{1} << 30, Deadline::None());
  if (!whole) return whole.error().message;
  return *whole ? (*whole)->text : "missing";
}

TEST(ZipStoreTest, ReadsTheArchivesOfOtherWriters) {
  struct Case {
    const char* archive;
    const char* group;     // where its zarr.json is
    const char* contains;  // a part of it
  };
  for (const Case& one :
       {Case{"valid_zip64.ozx", "", "multiscales"}, Case{"valid_no_zip64.ozx", "", "multiscales"},
        Case{"valid_full_zip64.ozx", "", "multiscales"},
        Case{"valid_dir_entries.ozx", "", "multiscales"},
        Case{"warn_deflated.ozx", "", "multiscales"},
        Case{"warn_unsorted_no_comment.ozx", "", "multiscales"},
        Case{"invalid_subfolder.ozx", "sub/", "multiscales"},
        Case{"odd_comment_with_signature.ozx", "", "multiscales"},
        Case{"odd_data_descriptors.ozx", "", "multiscales"},
        Case{"odd_duplicate_name.ozx", "", "multiscales"},
        Case{"odd_prepended_bytes.ozx", "", "multiscales"},
        Case{"odd_zarr_python_rewritten.ozx", "", "zarr_format"}}) {
    const auto memory = std::make_shared<MemoryStore>();
    memory->Put(kKey, ZipVector(one.archive));
    const auto store = Zip(memory);
    std::string group;
    ASSERT_TRUE(store->List("", Deadline::None(), [&](const ListEntry& entry) {
      if (*one.group != 0) group = std::string(entry.name) + "/";
      return *one.group == 0;
    }));
    const std::string document = TextOf(*store, group + "zarr.json");
    EXPECT_NE(document.find(one.contains), std::string::npos) << one.archive << ": " << document;
  }
}

TEST(ZipStoreTest, AReadOfAnEntryCostsTheRequestsThatItsHeaderSays) {
  const auto memory = RemoteMemory();
  const std::string large(1 << 20, 'x');
  memory->Put(kKey, ZipOf({{"small", "0123456789"},
                           {"other", "abcdefghij"},
                           {"large", large},
                           {"packed", large, true}}));
  const auto counting = std::make_shared<CountingStore>(memory);
  const auto store = Zip(counting, {.believed = std::chrono::hours(1)});
  const auto requests = [&](const std::string& key, const RangeRequest& first) {
    const std::uint64_t before = counting->total().requests();
    const auto opened = store->Open(key, first, Deadline::None());
    EXPECT_TRUE(opened && opened->version);
    EXPECT_EQ(opened ? opened->first.size() : 0, first.size) << key;
    return counting->total().requests() - before;
  };
  EXPECT_EQ(requests("small", RangeRequest::At(0, 10)), 2u) << "the directory, the entry";
  EXPECT_EQ(requests("small", RangeRequest::Suffix(2)), 1u);
  EXPECT_EQ(requests("small", RangeRequest::At(0, 0)), 0u);
  const auto opened = store->Open("other", RangeRequest::At(0, 0), Deadline::None());
  ASSERT_TRUE(opened && opened->version);
  const std::uint64_t before = counting->total().requests();
  const auto read = opened->version->Read(RangeRequest::At(2, 3), Deadline::None());
  ASSERT_TRUE(read);
  EXPECT_EQ(AsText(read->value.span()), "cde");
  EXPECT_EQ(counting->total().requests() - before, 1u) << "with its header";
  EXPECT_EQ(requests("large", RangeRequest::Suffix(100)), 2u) << "the header, the end";
  EXPECT_EQ(requests("large", RangeRequest::Suffix(100)), 1u);
  EXPECT_EQ(requests("packed", RangeRequest::Suffix(100)), 1u);
  EXPECT_EQ(requests("packed", RangeRequest::At(0, 100)), 0u) << "it was inflated";
}

TEST(ZipStoreTest, DamageIsFoundWhereAWholeEntryIsRead) {
  for (const bool is_deflated : {false, true}) {
    const std::string text = "0123456789 0123456789 0123456789";
    std::string archive = ZipOf({{"name", text, is_deflated}, {"z", "intact"}});
    const auto memory = std::make_shared<MemoryStore>();
    memory->Put(kKey, archive);
    EXPECT_EQ(TextOf(*Zip(memory), "name"), text);
    archive[30 + 4 + 3] ^= 1;
    memory->Put(kKey, archive);
    const auto store = Zip(memory);
    const auto damaged = ReadWhole(*store, "name", 100, Deadline::None());
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().code, ErrorCode::kDataLoss);
    EXPECT_NE(damaged.error().message.find("data.zip/name: "), std::string::npos);
    EXPECT_EQ(TextOf(*store, "z"), "intact");
    if (is_deflated) continue;
    const auto part = store->Open("name", RangeRequest::At(10, 5), Deadline::None());
    ASSERT_TRUE(part) << "a part is not verified";
    EXPECT_EQ(AsText(part->first.span()), " 0123");
  }
}

TEST(ZipStoreTest, WhatCannotBeReadIsRefusedByName) {
  struct Case {
    std::size_t at;  // of the first record of the directory
    char value;
    const char* says;
  };
  const std::string plain = ZipOf({{"name", "text"}, {"other", "text"}});
  const auto end = ParseZipEnd(AsBytes(plain), plain.size());
  for (const Case& one : {Case{8, 1, "name: is encrypted"}, Case{10, 12, "method 12 (bzip2)"},
                          Case{10, 93, "method 93 (zstd)"}, Case{10, 77, "method 77 (unknown)"}}) {
    std::string archive = plain;
    archive[end->directory.begin + one.at] = one.value;
    const auto memory = std::make_shared<MemoryStore>();
    memory->Put(kKey, archive);
    const auto store = Zip(memory);
    const auto opened = store->Open("name", RangeRequest::At(0, 1), Deadline::None());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kNotSupported);
    EXPECT_NE(opened.error().message.find(one.says), std::string::npos) << opened.error().message;
    EXPECT_EQ(TextOf(*store, "other"), "text");
  }
  std::string headless = plain;
  headless[0] = 'x';
  const auto memory = std::make_shared<MemoryStore>();
  memory->Put(kKey, headless);
  EXPECT_NE(TextOf(*Zip(memory), "name").find("expected a local header"), std::string::npos);
}

TEST(ZipStoreTest, ADeflatedEntryIsInflatedWithinABound) {
  const std::string text(100'000, 'x');
  const auto memory = std::make_shared<MemoryStore>();
  memory->Put(kKey, ZipOf({{"packed", text, true}}));
  EXPECT_EQ(TextOf(*Zip(memory, {.max_inflated_bytes = 100'000}), "packed"), text);
  const auto over = Zip(memory, {.max_inflated_bytes = 99'999})
                        ->Open("packed", RangeRequest::At(0, 1), Deadline::None());
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kResourceExhausted);
  // A directory that announces fewer bytes than there are.
  std::string archive = ZipOf({{"packed", text, true}});
  const auto end = ParseZipEnd(AsBytes(archive), archive.size());
  StoreU32Le(reinterpret_cast<std::uint8_t*>(archive.data()) + end->directory.begin + 24, 50'000);
  memory->Put(kKey, archive);
  const auto bomb = ReadWhole(*Zip(memory), "packed", 1 << 20, Deadline::None());
  ASSERT_FALSE(bomb);
  EXPECT_EQ(bomb.error().code, ErrorCode::kDataLoss);
}

// Never bytes of two archives: the versions that are open are of the first one, or of none.
TEST(ZipStoreTest, AnArchiveThatIsReplacedIsReadAnewAndNeverMixed) {
  for (const bool is_remote : {false, true}) {
    const auto memory = is_remote ? RemoteMemory() : std::make_shared<MemoryStore>();
    // Of equal sizes: an offset of one leads into the middle of the other.
    memory->Put(kKey, ZipOf({{"a", "first a"}, {"b", "first b"}}));
    const auto store = Zip(memory, {.believed = std::chrono::hours(is_remote ? 1 : 0)});
    const auto a = store->Open("a", RangeRequest::At(0, 0), Deadline::None());
    const auto b = store->Open("b", RangeRequest::At(0, 7), Deadline::None());
    ASSERT_TRUE(a && a->version && b);
    memory->Put(kKey, ZipOf({{"b", "other b"}, {"a", "other a"}}));
    for (const auto& [version, expected] :
         {std::pair{a->version, "first a"}, std::pair{b->version, "first b"}}) {
      const auto read = version->Read(RangeRequest::At(0, 7), Deadline::None());
      ASSERT_TRUE(read) << read.error().message;
      if (is_remote) {
        EXPECT_EQ(read->state, ReadResult::State::kConditionFailed);
      } else {
        EXPECT_EQ(AsText(read->value.span()), expected);
      }
    }
    // The remote store believed in the first archive, until a read of it failed.
    EXPECT_EQ(TextOf(*store, "a"), "other a");
    EXPECT_EQ(TextOf(*store, "b"), "other b");
    memory->Put(kKey, "no archive any more");
    if (is_remote) {
      EXPECT_FALSE(store->Open("a", RangeRequest::At(0, 7), Deadline::None()));
    }
    EXPECT_NE(TextOf(*store, "a").find("data.zip: expected a ZIP archive"), std::string::npos);
    memory->Remove(kKey);
    EXPECT_NE(TextOf(*store, "a").find("data.zip: this archive was removed"), std::string::npos);
    const auto root = store->Stat("", Deadline::None());
    ASSERT_FALSE(root);
    EXPECT_EQ(root.error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(store->List("", Deadline::None(), [](const ListEntry&) { return true; }));
    memory->Put(kKey, ZipOf({{"a", "third"}}));
    EXPECT_EQ(TextOf(*store, "a"), "third");
    EXPECT_EQ(TextOf(*store, "b"), "missing");
  }
}

TEST(ZipStoreTest, ARemoteArchiveIsAskedForOnceInTheTimeThatItIsBelieved) {
  const auto memory = RemoteMemory();
  memory->Put(kKey, ZipOf({{"a/b", "text"}}));
  for (const bool is_believed : {true, false}) {
    const auto counting = std::make_shared<CountingStore>(memory);
    const auto store = Zip(counting, {.believed = std::chrono::hours(is_believed ? 1 : 0)});
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(store->Stat("a/b", Deadline::None()).value_or(std::nullopt));
      EXPECT_FALSE(store->Stat("a/c", Deadline::None()).value_or(ObjectInfo{}));
    }
    EXPECT_EQ(counting->total().requests(), is_believed ? 1u : 10u);
  }
}

TEST(ZipStoreTest, ADirectoryOfTheArchiveCanBeTheRoot) {
  const auto memory = std::make_shared<MemoryStore>();
  memory->Put(kKey, ZipOf({{"labels/cells/zarr.json", "{}"}, {"zarr.json", "[]"}}));
  const auto store = Zip(memory, {}, "labels/cells");
  EXPECT_EQ(TextOf(*store, "zarr.json"), "{}");
  EXPECT_EQ(TextOf(*store, "cells/zarr.json"), "missing");
  EXPECT_EQ(store->Describe("zarr.json"), "memory:folder/data.zip/labels/cells/zarr.json");
}

TEST(ZipStoreTest, AVersionIsRecalledAsLongAsTheArchiveIsTheSame) {
  const auto memory = RemoteMemory();
  memory->Put(kKey, ZipOf({{"a", "text"}, {"packed", "text", true}}));
  const auto store = Zip(memory);
  const auto info = store->Stat("a", Deadline::None());
  const auto packed = store->Stat("packed", Deadline::None());
  ASSERT_TRUE(info && *info && packed && *packed);
  const auto recalled = store->Recall("a", **info);
  ASSERT_TRUE(recalled);
  const auto read = recalled->Read(RangeRequest::At(1, 3), Deadline::None());
  ASSERT_TRUE(read);
  EXPECT_EQ(AsText(read->value.span()), "ext");
  EXPECT_FALSE(store->Recall("packed", **packed));
  EXPECT_FALSE(store->Recall("b", **info));
  memory->Put(kKey, ZipOf({{"a", "text"}}));
  ASSERT_TRUE(store->Stat("a", Deadline::None()));
  EXPECT_FALSE(store->Recall("a", **info));
}

}  // namespace
}  // namespace unshard
