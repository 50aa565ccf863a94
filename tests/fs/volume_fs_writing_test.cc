// A writable volume, driven request by request as the kernel does: what a reader is given while
// others commit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "fs/mount.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class WritableVolume : public testing::Test {
 protected:
  static constexpr pid_t kReader = 11;
  static constexpr pid_t kWriter = 12;

  // An array of four chunks of one letter, in one shard.
  void SetUp() override {
    const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
    source_.Write("zarr.json", array.document);
    for (const auto& [key, bytes] : array.Encode({{0, "a"}, {1, "b"}})) source_.Write(key, bytes);
    MountOptions options;
    options.source = source_.path();
    options.spool = spool_.path();
    options.publish_after_milliseconds = 600'000;
    options.watch = WatchMode::kOff;
    auto fs = OpenVolume(options, changes_);
    ASSERT_TRUE(fs) << fs.error().message;
    fs_ = *std::move(fs);
  }

  NodeId Find(const std::string& name, pid_t thread) {
    const auto entry = fs_->Lookup(kRootNode, name, thread);
    EXPECT_TRUE(entry) << entry.error().message;
    return entry ? entry->node : 0;
  }

  Result<OpenFilePtr> Open(NodeId node, pid_t thread, bool write = false) {
    return fs_->Open(node, {.write = write, .truncate = write, .thread = thread});
  }

  // Writes a chunk and closes it.
  void Put(const std::string& name, const std::string& text) {
    NodeId node = Find(name, kWriter);
    Result<OpenFilePtr> file;
    if (node == 0) {
      auto created = fs_->Create(kRootNode, name, {.write = true, .thread = kWriter});
      ASSERT_TRUE(created) << created.error().message;
      file = std::move(created->file);
    } else {
      // A writer gets a node of its own: at once, or by looking up again.
      file = Open(node, kWriter, true);
      if (!file) file = Open(Find(name, kWriter), kWriter, true);
      ASSERT_TRUE(file) << file.error().message;
    }
    const Status written = fs_->Write(**file, 0, AsBytes(text));
    ASSERT_TRUE(written) << written.error().message;
    const Status closed = fs_->Flush(**file, kWriter);
    ASSERT_TRUE(closed) << closed.error().message;
    fs_->Release(*std::move(file));
  }

  std::string Text(Result<OpenFilePtr> file) {
    if (!file) return file.error().message.empty() ? "look again" : file.error().message;
    const auto piece = fs_->Read(**file, 0, 100);
    fs_->Release(*std::move(file));
    if (!piece) return piece.error().message;
    if (const auto* bytes = std::get_if<Bytes>(&*piece)) return std::string(AsText(bytes->span()));
    const FileSlice& slice = std::get<FileSlice>(*piece);
    std::string text(slice.range.size, '\0');
    const ssize_t read =
        pread(slice.descriptor, text.data(), text.size(), static_cast<off_t>(slice.range.begin));
    EXPECT_EQ(read, static_cast<ssize_t>(text.size()));
    return text;
  }

  TemporaryDirectory source_;
  TemporaryDirectory spool_;
  ChangeQueue changes_;
  std::unique_ptr<VolumeFs> fs_;
};

TEST_F(WritableVolume, AReaderThatMeetsACommitTwiceIsGivenOneWholeVersion) {
  const NodeId stored = Find("0", kReader);
  Put("0", "x");
  EXPECT_EQ(Text(Open(stored, kReader)), "look again");
  const NodeId first = Find("0", kReader);
  Put("0", "y");
  EXPECT_EQ(Text(Open(first, kReader)), "x") << "that open began before y was committed";
  EXPECT_EQ(Text(Open(first, kReader)), "look again") << "another one did not";
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "y");
}

TEST_F(WritableVolume, TheLastLookUpOfTheCallCounts) {
  const NodeId stored = Find("0", kReader);
  Put("0", "x");
  EXPECT_EQ(Text(Open(stored, kReader)), "look again");
  Find("0", kReader);
  Put("0", "y");
  const NodeId second = Find("0", kReader);
  Put("0", "z");
  EXPECT_EQ(Text(Open(second, kReader)), "y");
}

TEST_F(WritableVolume, APublishedVersionIsPinnedAsWell) {
  const NodeId stored = Find("1", kReader);
  Put("1", "x");
  ASSERT_TRUE(fs_->FlushAll());
  EXPECT_EQ(Text(Open(stored, kReader)), "look again");
  const NodeId first = Find("1", kReader);
  Put("1", "y");
  EXPECT_EQ(Text(Open(first, kReader)), "x");
}

TEST_F(WritableVolume, AChunkThatWasAbsentIsPinnedUnderItsFirstVersion) {
  Put("3", "x");
  const NodeId first = Find("3", kReader);
  Put("3", "y");
  EXPECT_EQ(Text(Open(first, kReader)), "look again");
  const NodeId second = Find("3", kReader);
  Put("3", "z");
  EXPECT_EQ(Text(Open(second, kReader)), "y");
}

TEST_F(WritableVolume, OthersAndReadersThatWereNotSentAwayGetTheLatestVersion) {
  const NodeId stored = Find("0", kReader);
  Put("0", "x");
  EXPECT_EQ(Text(Open(stored, kReader)), "look again");
  const NodeId first = Find("0", kReader);
  constexpr pid_t kOther = 13;
  EXPECT_EQ(Find("0", kOther), first);
  Put("0", "y");
  EXPECT_EQ(Text(Open(first, kOther)), "look again") << "the pin is not theirs";
  EXPECT_EQ(Text(Open(Find("1", kReader), kReader)), "b") << "another chunk";
  EXPECT_EQ(Text(Open(first, kReader)), "x");
}

TEST_F(WritableVolume, ALookUpThatFindsNoChunkEndsTheWait) {
  const NodeId stored = Find("0", kReader);
  Put("0", "x");
  EXPECT_EQ(Text(Open(stored, kReader)), "look again");
  ASSERT_TRUE(fs_->Remove(kRootNode, "0"));
  EXPECT_EQ(Find("0", kReader), 0U) << "the open ends here, with ENOENT";
  Put("0", "y");
  const NodeId second = Find("0", kReader);
  Put("0", "z");
  EXPECT_EQ(Text(Open(second, kReader)), "look again") << "an open of its own";
}

TEST_F(WritableVolume, WhatIsDroppedAfterACommitStaysInANodeThatNobodyIsGivenAnyMore) {
  auto created = fs_->Create(kRootNode, "3", {.write = true, .thread = kWriter});
  ASSERT_TRUE(created);
  OpenFilePtr& file = created->file;
  ASSERT_TRUE(fs_->Write(*file, 0, AsBytes("x")));
  ASSERT_TRUE(fs_->Sync(*file));
  ASSERT_TRUE(fs_->Write(*file, 0, AsBytes("too long")));
  EXPECT_FALSE(fs_->Flush(*file, kWriter));
  EXPECT_EQ(Text(Open(Find("3", kReader), kReader)), "x");
  fs_->Release(std::move(file));
  const NodeId node = Find("3", kReader);
  EXPECT_NE(node, created->entry.node) << "the kernel may have pages of what was dropped";
  EXPECT_EQ(Text(Open(node, kReader)), "x");
  ASSERT_TRUE(fs_->FlushAll());
  EXPECT_EQ(Text(Open(Find("3", kReader), kReader)), "x");
}

class CountingNotifier final : public KernelNotifier {
 public:
  void InvalidateEntry(NodeId, const std::string& name) override { names.insert(name); }
  void InvalidateInode(NodeId) override { ++inodes; }
  std::set<std::string> names;
  int inodes = 0;
};

TEST_F(WritableVolume, NobodyIsToldOfWhatWeHavePublishedOurselves) {
  Find("0", kReader);
  Put("0", "x");
  ASSERT_TRUE(fs_->FlushAll());
  CountingNotifier notifier;
  for (const char* key : {"0.__lock", "0.new.__lock", "0"}) fs_->Refresh({key, false}, notifier);
  EXPECT_TRUE(notifier.names.empty());
  EXPECT_EQ(notifier.inodes, 0);
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "x");
}

TEST_F(WritableVolume, EverybodyIsToldOfWhatOthersPutInItsPlace) {
  Find("0", kReader);
  Put("0", "x");
  ASSERT_TRUE(fs_->FlushAll());
  const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  for (const auto& [key, bytes] : array.Encode({{0, "y"}, {1, "b"}})) source_.Write(key, bytes);
  CountingNotifier notifier;
  fs_->Refresh({"0", false}, notifier);
  EXPECT_EQ(notifier.names, (std::set<std::string>{"0", "1"}));
  EXPECT_NE(notifier.inodes, 0);
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "y");
}

// What follows is about writing one chunk after the other (fs/write_streaks.h).

TEST_F(WritableVolume, TheThirdChunkInARowIsOpenedWithoutASecondLookUp) {
  Put("0", "x");
  EXPECT_EQ(Text(Open(Find("1", kReader), kReader)), "b");
  EXPECT_FALSE(Open(Find("1", kWriter), kWriter, true)) << "the second look-up";
  auto second = Open(Find("1", kWriter), kWriter, true);
  ASSERT_TRUE(second);
  fs_->Release(*std::move(second));
  const NodeId promised = Find("0", kWriter);
  EXPECT_NE(promised, Find("0", kReader)) << "readers keep the version before";
  EXPECT_EQ(Find("0", kWriter), promised) << "stat(2) before open(2)";
  auto third = Open(promised, kWriter, true);
  ASSERT_TRUE(third);
  ASSERT_TRUE(fs_->Write(**third, 0, AsBytes("y")));
  EXPECT_EQ(fs_->GetAttributes(promised)->attributes.size, 1U);
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "x");
  ASSERT_TRUE(fs_->Flush(**third, kWriter));
  fs_->Release(*std::move(third));
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "y");
}

TEST_F(WritableVolume, APromisedNodeIsOfNoUseForAnythingElse) {
  Put("0", "x");
  Put("1", "y");
  const NodeId read = Find("0", kWriter);
  EXPECT_EQ(Text(Open(read, kWriter)), "look again");
  EXPECT_EQ(Find("0", kWriter), Find("0", kReader)) << "a thread that reads as well";
  EXPECT_EQ(Text(Open(Find("0", kWriter), kWriter)), "x");
  const auto ask = [&](const std::function<bool(NodeId)>& request) {
    Put("0", "x");
    Put("1", "y");
    const NodeId promised = Find("0", kWriter);
    EXPECT_NE(promised, Find("0", kReader));
    EXPECT_FALSE(request(promised));
    EXPECT_EQ(Find("0", kWriter), Find("0", kReader));
  };
  ask([&](NodeId node) { return fs_->GetAttributes(node).has_value(); });
  ask([&](NodeId node) {
    return fs_->GetExtendedAttribute(node, "user.unshard.offset").has_value();
  });
  ask([&](NodeId node) {
    return fs_->SetAttributes(node, nullptr, {1, timespec{1, 0}}, kWriter).has_value();
  });
}

TEST_F(WritableVolume, AThreadThatOnlyLooksLeavesOnePromisedNodeBehind) {
  Put("0", "x");
  Put("1", "y");
  EXPECT_NE(Find("0", kWriter), Find("0", kReader));
  EXPECT_EQ(Find("1", kWriter), Find("1", kReader));
  EXPECT_EQ(Find("0", kWriter), Find("0", kReader));
}

TEST_F(WritableVolume, WhoJoinsAWriterOnAPromisedNodeIsLedThere) {
  constexpr pid_t kOther = 13;
  Put("0", "x");
  Put("1", "y");
  const NodeId promised = Find("0", kWriter);
  auto file = fs_->Open(promised, {.write = true, .thread = kWriter});
  ASSERT_TRUE(file);
  auto joined = fs_->Open(Find("0", kOther), {.write = true, .thread = kOther});
  ASSERT_FALSE(joined);
  EXPECT_EQ(Find("0", kOther), promised);
  joined = fs_->Open(promised, {.write = true, .thread = kOther});
  ASSERT_TRUE(joined);
  ASSERT_TRUE(fs_->Write(**joined, 0, AsBytes("z")));
  fs_->Release(*std::move(joined));
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "x") << "one of them still writes";
  fs_->Release(*std::move(file));
  EXPECT_EQ(Text(Open(Find("0", kReader), kReader)), "z");
}

TEST_F(WritableVolume, WhereAPromisedChunkIsBeingWrittenAlreadyTheWriterIsLedThere) {
  constexpr pid_t kOther = 13;
  Put("0", "x");
  Put("1", "y");
  const NodeId promised = Find("0", kWriter);
  ASSERT_FALSE(fs_->Open(Find("0", kOther), {.write = true, .thread = kOther}));
  auto file = fs_->Open(Find("0", kOther), {.write = true, .thread = kOther});
  ASSERT_TRUE(file);
  ASSERT_FALSE(fs_->Open(promised, {.write = true, .thread = kWriter}));
  EXPECT_EQ(Find("0", kWriter), (*file)->node);
  fs_->Release(*std::move(file));
}

}  // namespace
}  // namespace unshard
