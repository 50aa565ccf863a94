// The metadata of an array are replaced, or removed, while chunks of it wait to be published.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "fs/mount/mount.h"
#include "store/local/file_store.h"
#include "store/local/inotify_watcher.h"
#include "store/local/local_replacer.h"
#include "store/local/posix_file_system.h"
#include "tests/support/counting_store.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr pid_t kWriter = 12;

ShardedSource SourceOf(std::uint64_t extent) {
  return ZarrSource({extent}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

class LayoutChange : public testing::Test {
 protected:
  // An array "a" of eight chunks of one letter, in shards of four.
  void SetUp() override {
    const ShardedSource array = SourceOf(8);
    source_.Write("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
    source_.Write("a/zarr.json", array.document);
    for (const auto& [key, bytes] : array.Encode({{0, "a"}, {1, "b"}})) {
      source_.Write("a/" + key, bytes);
    }
    Mount();
  }
  void TearDown() override { fs_.reset(); }

  void Mount() {
    MountOptions options;
    options.source = source_.path();
    options.spool = spool_.path();
    options.publish_after_milliseconds = 600'000;
    options.watch = WatchMode::kOff;
    auto fs = OpenVolume(options, changes_);
    ASSERT_TRUE(fs) << fs.error().message;
    fs_ = *std::move(fs);
  }

  NodeId Find(const std::string& name) {
    const auto directory = fs_->Lookup(kRootNode, "a", kWriter);
    EXPECT_TRUE(directory) << directory.error().message;
    if (!directory) return 0;
    directory_ = directory->node;
    const auto entry = fs_->Lookup(directory_, name, kWriter);
    EXPECT_TRUE(entry) << entry.error().message;
    return entry ? entry->node : 0;
  }

  // A chunk, written and not closed.
  OpenFilePtr Begin(const std::string& name, const std::string& text) {
    const OpenRequest request{.write = true, .truncate = true, .thread = kWriter};
    Result<OpenFilePtr> file;
    if (const NodeId node = Find(name); node == 0) {
      auto created = fs_->Create(directory_, name, request);
      EXPECT_TRUE(created) << created.error().message;
      if (created) file = std::move(created->file);
    } else {
      file = fs_->Open(node, request);
      if (!file) file = fs_->Open(Find(name), request);
    }
    EXPECT_TRUE(file) << file.error().message;
    EXPECT_TRUE(fs_->Write(**file, 0, AsBytes(text)));
    return *std::move(file);
  }

  Status End(OpenFilePtr file) {
    const Status closed = fs_->Flush(*file, kWriter);
    fs_->Release(std::move(file));
    return closed;
  }

  void Put(const std::string& name, const std::string& text) {
    const Status closed = End(Begin(name, text));
    ASSERT_TRUE(closed) << closed.error().message;
  }

  void ExpectQuarantined(std::size_t count) {
    const Status flushed = fs_->FlushAll();
    ASSERT_FALSE(flushed) << "it has to be said";
    EXPECT_NE(flushed.error().message.find("quarantined"), std::string::npos)
        << flushed.error().message;
    EXPECT_TRUE(fs_->FlushAll()) << "once";
    EXPECT_EQ(fs_->write_status()->conflicting.size(), count);
    EXPECT_EQ(fs_->write_status()->dirty_chunks, 0u);
  }

  [[nodiscard]] std::string FileText(const std::string& key) const {
    std::ifstream file(source_.At(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryDirectory source_;
  TemporaryDirectory spool_;
  ChangeQueue changes_;
  std::unique_ptr<VolumeFs> fs_;
  NodeId directory_ = 0;
};

TEST_F(LayoutChange, ChunksOfTheOldLayoutAreNotPublishedIntoTheNewOne) {
  const std::string shard = FileText("a/0");
  Put("0", "x");
  Put("6", "y");
  source_.Replace("a/zarr.json", Replaced(SourceOf(8).document, "uint8", "uint16"));
  ExpectQuarantined(2);
  EXPECT_EQ(FileText("a/0"), shard);
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/1")));
}

TEST_F(LayoutChange, AnArrayThatWasRemovedDoesNotGetItsShardsBack) {
  Put("0", "x");
  source_.Remove("a");
  ExpectQuarantined(1);
  EXPECT_FALSE(std::filesystem::exists(source_.At("a")));
}

TEST_F(LayoutChange, MetadataThatCannotBeReadLetChunksWait) {
  Put("0", "x");
  source_.Write("a/zarr.json", R"({"zarr_format":3,"node_ty)");
  const Status flushed = fs_->FlushAll();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(fs_->write_status()->dirty_chunks, 1u);
  source_.Write("a/zarr.json", SourceOf(8).document);
  const Status again = fs_->FlushAll();
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(fs_->write_status()->conflicts, 0u);
}

TEST_F(LayoutChange, WhereOnlyTheShapeChangedChunksGoOnWaiting) {
  Put("0", "x");
  Put("6", "y");
  source_.Replace("a/zarr.json", SourceOf(16).document);
  const Status flushed = fs_->FlushAll();
  ASSERT_TRUE(flushed) << flushed.error().message;
  // They have found the shards of the new tree.
  EXPECT_TRUE(fs_->FlushAll());
  EXPECT_EQ(fs_->write_status()->dirty_chunks, 0u);
  EXPECT_EQ(fs_->write_status()->conflicts, 0u);
  EXPECT_TRUE(std::filesystem::exists(source_.At("a/1")));
  Put("12", "z");
  EXPECT_TRUE(fs_->FlushAll());
  EXPECT_TRUE(std::filesystem::exists(source_.At("a/3")));
}

TEST_F(LayoutChange, WhoWroteForTheOldLayoutIsToldAtClose) {
  OpenFilePtr file = Begin("0", "x");
  Put("1", "y");
  source_.Replace("a/zarr.json", Replaced(SourceOf(8).document, "uint8", "uint16"));
  ExpectQuarantined(1);
  const Status closed = End(std::move(file));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kConflict);
  EXPECT_NE(closed.error().message.find("a/0"), std::string::npos);
}

TEST_F(LayoutChange, NodesOfTheOldLayoutAreLookedUpAgain) {
  const NodeId node = Find("1");
  Put("0", "x");
  source_.Replace("a/zarr.json", SourceOf(16).document);
  ASSERT_TRUE(fs_->FlushAll());
  const auto opened = fs_->Open(node, {.thread = kWriter});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "") << "the kernel looks the name up again";
  EXPECT_TRUE(fs_->Open(Find("1"), {.thread = kWriter}));
}

TEST_F(LayoutChange, ReplayChecksWhatItFindsAgainstTheLayoutOfNow) {
  Put("0", "x");
  Put("7", "y");
  fs_.reset();
  source_.Write("a/zarr.json", Replaced(SourceOf(8).document, "uint8", "uint16"));
  source_.Remove("a/0");
  Mount();
  EXPECT_EQ(fs_->write_status()->conflicting.size(), 2u);
  EXPECT_TRUE(fs_->FlushAll());
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/1")));
}

// Chunks that have the length of those of the new layout, written before a mount ended.
class LayoutAtReplay : public LayoutChange {
 protected:
  // Chunk 6, whose shard is not there, waits while `document` takes the place of the array's.
  void PutAndReplace(const std::string& document) {
    Put("6", "y");
    fs_.reset();
    source_.Replace("a/zarr.json", document);
    Mount();
  }
  void ExpectSetAside() {
    EXPECT_EQ(fs_->write_status()->conflicting.size(), 1u);
    EXPECT_TRUE(fs_->FlushAll());
    EXPECT_FALSE(std::filesystem::exists(source_.At("a/1")));
  }
  void ExpectPublished() {
    EXPECT_EQ(fs_->write_status()->conflicting.size(), 0u);
    EXPECT_TRUE(fs_->FlushAll());
    EXPECT_TRUE(std::filesystem::exists(source_.At("a/1")));
  }
};

TEST_F(LayoutAtReplay, AnotherTypeOfTheSameSize) {
  PutAndReplace(Replaced(SourceOf(8).document, "uint8", "int8"));
  ExpectSetAside();
}

TEST_F(LayoutAtReplay, OtherShards) {
  PutAndReplace(ZarrSource({8}, {1}, {2}, {ChunkKeyEncoding::Kind::kV2, '.'}).document);
  EXPECT_EQ(fs_->write_status()->conflicting.size(), 1u);
  EXPECT_TRUE(fs_->FlushAll());
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/3")));
}

TEST_F(LayoutAtReplay, WhatDoesNotConcernChunksIsNoReason) {
  std::string document = Replaced(SourceOf(16).document, "\"fill_value\"",
                                  R"("attributes":{"unit":"nm"},"fill_value")");
  PutAndReplace(document);
  ExpectPublished();
}

TEST_F(LayoutAtReplay, ASealOfAnEarlierReleaseIsJudgedByItsBytes) {
  Put("6", "y");
  fs_.reset();
  namespace files = std::filesystem;
  std::vector<files::path> sealed;
  for (const auto& entry : files::recursive_directory_iterator(spool_.path())) {
    if (entry.path().filename().string().find(",s") != std::string::npos) {
      sealed.push_back(entry.path());
    }
  }
  ASSERT_EQ(sealed.size(), 1u);
  const std::string name = sealed[0].filename();
  const std::size_t layout = name.rfind("-l");
  ASSERT_NE(layout, name.npos) << name;
  files::rename(sealed[0], sealed[0].parent_path() / name.substr(0, layout));
  source_.Replace("a/zarr.json", Replaced(SourceOf(8).document, "uint8", "int8"));
  Mount();
  ExpectPublished();
}

class TransposedAtReplay : public LayoutAtReplay {};

TEST_F(TransposedAtReplay, ChunksOfOneSizeAndAnotherShape) {
  const auto array = [](std::uint64_t y, std::uint64_t x) {
    return ZarrSource({8, 8}, {y, x}, {8 / y, 8 / x}, {ChunkKeyEncoding::Kind::kV2, '.'});
  };
  fs_.reset();
  source_.Remove("a");
  source_.Write("a/zarr.json", array(2, 4).document);
  Mount();
  Put("0.0", "yyyyzzzz");
  fs_.reset();
  source_.Replace("a/zarr.json", array(4, 2).document);
  Mount();
  EXPECT_EQ(fs_->write_status()->conflicting.size(), 1u);
  EXPECT_TRUE(fs_->FlushAll());
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/0.0")));
}

// The metadata are replaced while a shard is being published.
class LayoutAtPublish : public LayoutChange {
 protected:
  // Mounts with a store that counts, and calls `on_stat_` after each look at the metadata.
  void MountCounting() {
    fs_.reset();
    MountOptions options;
    options.source = source_.path();
    options.spool = spool_.path();
    options.publish_after_milliseconds = 600'000;
    auto files = OpenFileStore(source_.path(), 64);
    ASSERT_TRUE(files);
    store_ = std::make_shared<CountingStore>(*std::move(files));
    store_->OnStat([this](std::string_view key) {
      if (key == "a/zarr.json" && on_stat_) std::exchange(on_stat_, nullptr)();
    });
    VolumeParts parts;
    parts.store = store_;
    parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
    parts.indexes = std::make_shared<IndexCache>(std::uint64_t{1} << 24);
    parts.decoded = std::make_shared<ByteBudgetCache>(std::uint64_t{1} << 24);
    parts.reader =
        std::make_shared<ChunkReader>(parts.decoded, std::uint64_t{1} << 24, parts.reads);
    parts.files = *OpenPosixFileSystem(source_.path());
    parts.replacer = parts.documents = MakeLocalReplacer(parts.files);
    parts.written = std::make_shared<CommittedVersions>();
    DatasetTreeOptions tree;
    tree.written = parts.written;
    parts.datasets =
        std::make_shared<DatasetTree>(store_, parts.watcher, parts.indexes, parts.reader, tree);
    ASSERT_TRUE(parts.datasets->Discover());
    auto volume = std::make_unique<Volume>(std::move(parts), options);
    auto spools = OpenSpools(options);
    ASSERT_TRUE(spools) << spools.error().message;
    volume->StartWriting(*std::move(spools), nullptr);
    fs_ = std::make_unique<VolumeFs>(std::move(volume), options);
    VolumeFs::Writing writing;
    writing.drop_entry = [](NodeId, const std::string&) {};
    writing.await_drop = [](NodeId, const std::string&) {};
    writing.revalidate = [](const std::string&) {};
    fs_->StartWriting(std::move(writing));
  }

  std::shared_ptr<CountingStore> store_;
  std::function<void()> on_stat_;
};

TEST_F(LayoutAtPublish, ALayoutThatComesWhileAShardIsPutTogetherIsSeenBeforeTheRename) {
  MountCounting();
  const std::string shard = FileText("a/0");
  Put("0", "x");
  on_stat_ = [this] {
    source_.Replace("a/zarr.json", Replaced(SourceOf(8).document, "uint8", "int8"));
  };
  ExpectQuarantined(1);
  EXPECT_EQ(FileText("a/0"), shard);
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/0.new.__lock")));
}

TEST_F(LayoutAtPublish, AShardCostsTwoLooksAtTheMetadata) {
  MountCounting();
  Put("0", "x");
  Put("1", "y");
  store_->Reset();
  ASSERT_TRUE(fs_->FlushAll());
  EXPECT_EQ(store_->of("a/zarr.json").stats, 2u);
  EXPECT_EQ(store_->of("a/zarr.json").opens, 0u);
}

}  // namespace
}  // namespace unshard
