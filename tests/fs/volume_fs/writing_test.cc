// A writable volume, driven request by request as the kernel does: what a reader is given while
// others commit.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "fs/common/request_failures.h"
#include "fs/mount/mount.h"
#include "store/object/error_number.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class WritableVolume : public testing::Test {
 protected:
  static constexpr pid_t kWriter = 12;

  // An array of four chunks of one letter, in one shard.
  void SetUp() override {
    const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
    source_.Write("zarr.json", array.document);
    for (const auto& [key, bytes] : array.Encode({{0, "a"}, {1, "b"}})) source_.Write(key, bytes);
    options_.source = source_.path();
    options_.spool = spool_.path();
    options_.publish_after_milliseconds = 600'000;
    options_.watch = WatchMode::kOff;
    notifier_ = std::thread([this] {
      while (const auto item = changes_.Pop()) {
        const auto* name = std::get_if<ChangeQueue::Name>(&*item);
        const std::lock_guard lock(dropped_mutex_);
        if (name != nullptr) dropped_.insert(name->name);
      }
    });
    Mount();
  }

  void TearDown() override {
    changes_.Close();
    notifier_.join();
  }

  // Whether the kernel was notified that this name is to be dropped.
  bool WasDropped(const std::string& name) {
    const std::lock_guard lock(dropped_mutex_);
    return dropped_.contains(name);
  }

  void Mount() {
    fs_.reset();
    auto fs = OpenVolume(options_, changes_);
    ASSERT_TRUE(fs) << fs.error().message;
    fs_ = *std::move(fs);
  }

  // The files of the spool's sealed chunks, and of those that are being written.
  std::vector<std::filesystem::path> Sealed() {
    return InSpool(
        [](const auto& path) { return path.filename().string().find(",s") != std::string::npos; });
  }
  std::vector<std::filesystem::path> Staged() {
    return InSpool([](const auto& path) { return path.parent_path().filename() == "staging"; });
  }
  template <class Which>
  std::vector<std::filesystem::path> InSpool(const Which& which) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(spool_.path())) {
      if (which(entry.path())) files.push_back(entry.path());
    }
    return files;
  }

  NodeId Find(const std::string& name, pid_t thread = 0) {
    const auto entry = fs_->Lookup(kRootNode, name, thread);
    EXPECT_TRUE(entry) << entry.error().message;
    return entry ? entry->node : 0;
  }

  // With O_TRUNC, where for writing.
  Result<OpenFilePtr> Open(NodeId node, bool write = false) {
    return fs_->Open(node, {.write = write, .truncate = write});
  }

  // As the kernel does: at ESTALE it looks the old name up and tries once more.
  Status Rename(const std::string& from, const std::string& to) {
    const Status renamed = fs_->Rename(kRootNode, from, kRootNode, to, true);
    if (renamed || !IsStaleName(renamed.error())) return renamed;
    Find(from);
    return fs_->Rename(kRootNode, from, kRootNode, to, true);
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
      // At the node that was looked up, or by looking up again.
      file = Open(node, true);
      if (!file) file = Open(Find(name, kWriter), true);
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
    const auto piece = (*file)->Read(0, 100);
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

  MountOptions options_;
  TemporaryDirectory source_;
  TemporaryDirectory spool_;
  ChangeQueue changes_;
  std::thread notifier_;
  std::mutex dropped_mutex_;
  std::set<std::string> dropped_;  // guarded by dropped_mutex_
  std::unique_ptr<VolumeFs> fs_;
};

// The kernel's second attempt is its last: an ESTALE would reach the program.
TEST_F(WritableVolume, AReaderThatMeetsACommitTwiceIsGivenTheLatestVersionWithDirectReads) {
  const NodeId stored = Find("0");
  Put("0", "x");
  EXPECT_EQ(Text(Open(stored)), "look again");
  const auto first = fs_->Lookup(kRootNode, "0");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->attributes_milliseconds, 0U) << "an open may find another size";
  Put("0", "y");
  auto file = Open(first->node);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->page_use(), PageUse::kDirect);
  EXPECT_EQ(Text(std::move(file)), "y");
  const NodeId second = Find("0");
  EXPECT_NE(second, first->node);
  EXPECT_EQ(Text(Open(second)), "y");
}

TEST_F(WritableVolume, SoIsOneWhoMeetsAPublishOrTheFirstVersion) {
  const NodeId stored = Find("1");
  Put("1", "x");
  ASSERT_TRUE(fs_->FlushAll());
  EXPECT_EQ(Text(Open(stored)), "look again");
  const NodeId first = Find("1");
  Put("1", "y");
  ASSERT_TRUE(fs_->FlushAll());
  EXPECT_EQ(Text(Open(first)), "y");

  Put("3", "x");
  const NodeId arithmetic = Find("3");
  Put("3", "y");
  EXPECT_EQ(Text(Open(arithmetic)), "look again");
  const NodeId second = Find("3");
  Put("3", "z");
  EXPECT_EQ(Text(Open(second)), "z");
}

TEST_F(WritableVolume, AReaderWhoFoundAChunkThatWasBeingCreatedIsGivenItOnceItIsCommitted) {
  auto created = fs_->Create(kRootNode, "3", {.write = true, .thread = kWriter});
  ASSERT_TRUE(created);
  ASSERT_TRUE(fs_->Write(*created->file, 0, AsBytes("x")));
  const NodeId uncommitted = Find("3");
  EXPECT_EQ(ErrnoOf(Open(uncommitted).error()), ENOENT);
  EXPECT_TRUE(fs_->Flush(*created->file, kWriter));
  EXPECT_EQ(Text(Open(uncommitted)), "x");
  fs_->Release(std::move(created->file));
  ASSERT_TRUE(fs_->Remove(kRootNode, "3"));
  EXPECT_EQ(ErrnoOf(Open(uncommitted).error()), ENOENT) << "and not once it is removed";
}

TEST_F(WritableVolume, WhoMeetsAWriterIsGivenANodeOfHisOwnEachTime) {
  Put("0", "x");
  const NodeId shared = Find("1");
  EXPECT_EQ(Find("1"), shared) << "one node for all as long as nobody was sent away";
  auto writer = Open(shared, true);
  ASSERT_TRUE(writer) << "the node that the look-up led to";
  ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes("y")));
  EXPECT_EQ(fs_->GetAttributes(shared)->attributes.size, 1U);
  EXPECT_EQ(Text(Open(shared)), "look again") << "a reader that looked up before";
  const NodeId own = Find("1");
  EXPECT_NE(Find("1"), own);
  EXPECT_EQ(Text(Open(own)), "b");
  auto second = Open(Find("1"), true);
  ASSERT_TRUE(second) << "with O_TRUNC: a version of its own";
  ASSERT_TRUE(fs_->Flush(**writer, 0));
  fs_->Release(*std::move(writer));
  EXPECT_EQ(Text(Open(Find("1"))), "y");
  ASSERT_TRUE(fs_->Write(**second, 0, AsBytes("z")));
  ASSERT_TRUE(fs_->Flush(**second, 0));
  fs_->Release(*std::move(second));
  EXPECT_EQ(Text(Open(Find("1"))), "z");
}

TEST_F(WritableVolume, AWriterIsLedPastThoseWhoHaveTheChunkOpen) {
  Put("0", "x");
  const NodeId shared = Find("1");
  auto reader = Open(shared);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(Open(shared, true)) << "the kernel has one size and one page cache for both";
  auto writer = Open(Find("1"), true);
  ASSERT_TRUE(writer);
  EXPECT_NE((*writer)->node(), shared);
  ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes("y")));
  ASSERT_TRUE(fs_->Flush(**writer, 0));
  EXPECT_EQ(fs_->GetAttributes(shared)->attributes.size, 1U);
  EXPECT_EQ(Text(std::move(reader)), "b");
  fs_->Release(*std::move(writer));
}

TEST_F(WritableVolume, AFileIsOpenedForWritingWithoutALookUp) {
  const NodeId stored = Find("0");
  EXPECT_FALSE(Open(stored, true)) << "the name is remembered: it would go on leading there";
  EXPECT_FALSE(WasDropped("0")) << "the kernel looks it up again by itself";
  auto writer = Open(stored, true);
  ASSERT_TRUE(writer) << "/proc/self/fd: no look-up came in between";
  EXPECT_TRUE(WasDropped("0")) << "who comes by this name is to look it up";
  EXPECT_EQ(Text(Open(stored)), "look again");
  EXPECT_EQ(Text(Open(Find("0"))), "a");
  ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes("y")));
  ASSERT_TRUE(fs_->Flush(**writer, 0));
  fs_->Release(*std::move(writer));
  EXPECT_EQ(Text(Open(stored)), "look again");
  EXPECT_EQ(Text(Open(Find("0"))), "y");
}

// What a writer without a name leaves at the node that it has taken over.
struct Left {
  const char* name;
  const char* written;
  bool closed;  // close(2) succeeds
};

class NodeLeft : public WritableVolume, public testing::WithParamInterface<Left> {
 protected:
  // As the thread that notifies the kernel does.
  void DropPages(NodeId node) {
    struct Notifier final : KernelNotifier {
      void InvalidateEntry(NodeId, const std::string&) override {}
      void InvalidateInode(NodeId of) override { dropped = of; }
      NodeId dropped = 0;
    } notifier;
    KernelInvalidation(fs_->superblock(), notifier).DropPages(node);
    EXPECT_EQ(notifier.dropped, node);
  }
};

INSTANTIATE_TEST_SUITE_P(With, NodeLeft,
                         testing::Values(Left{"WhatWasCommitted", "x", true},
                                         Left{"WhatWasRefused", "too long", false},
                                         Left{"Nothing", "", true}),
                         [](const auto& left) { return left.param.name; });

// What was committed may be withdrawn, if the spool loses it or another process has changed the
// chunk first: the kernel must have no pages of it when the node is that of the stored version.
TEST_P(NodeLeft, IsGivenToNobodyBeforeTheKernelHasDroppedItsPages) {
  const auto& [name, written, closed] = GetParam();
  const NodeId stored = Find("0");
  EXPECT_FALSE(Open(stored, true));
  auto writer = Open(stored, true);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes(written)));
  EXPECT_EQ(fs_->Flush(**writer, 0).has_value(), closed);
  fs_->Release(*std::move(writer));
  EXPECT_EQ(fs_->GetAttributes(stored)->attributes.size, 1U);
  for (const auto& sealed : Sealed()) std::filesystem::remove(sealed);
  EXPECT_EQ(fs_->FlushAll().has_value(), std::string_view(written) != "x");
  const NodeId found = Find("0");
  EXPECT_NE(found, stored);
  EXPECT_EQ(Text(Open(found)), "a");
  EXPECT_EQ(Text(Open(stored)), "look again");
  DropPages(stored);
  EXPECT_EQ(Text(Open(stored)), "a");
}

TEST_F(NodeLeft, IsNotGivenBackWhileTheNextWriterHasIt) {
  const NodeId stored = Find("0");
  for (const char* text : {"x", "y"}) {
    auto writer = Open(stored, true);
    if (!writer) writer = Open(stored, true);
    ASSERT_TRUE(writer) << text;
    ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes(text)));
    DropPages(stored);
    EXPECT_EQ(Text(Open(stored)), "look again");
    ASSERT_TRUE(fs_->Flush(**writer, 0));
    fs_->Release(*std::move(writer));
    EXPECT_EQ(Text(Open(Find("0"))), text);
  }
}

TEST_F(WritableVolume, WhoCannotBeToldFromOthersIsNeverGivenTheirBytes) {
  Put("0", "x");
  auto writer = fs_->Open(Find("1"), {.write = true});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes("y")));
  // The same version is to be written at the same node, and this look-up leads to another one.
  const auto joined = fs_->Open(Find("1"), {.write = true});
  ASSERT_FALSE(joined);
  EXPECT_EQ(ErrnoOf(joined.error()), EBUSY);
  EXPECT_EQ(Text(Open(Find("1"))), "b");
  auto same = fs_->Open((*writer)->node(), {.write = true});
  ASSERT_TRUE(same) << "without another look-up it is known whose version it is";
  fs_->Release(*std::move(same));
  fs_->Release(*std::move(writer));
}

TEST_F(WritableVolume, AThreadThatCanBeToldIsLedToTheVersionThatIsBeingWritten) {
  constexpr pid_t kOther = 13;
  Put("0", "x");
  auto file = fs_->Open(Find("1"), {.write = true, .thread = kWriter});
  ASSERT_TRUE(file);
  auto joined = fs_->Open(Find("1"), {.write = true, .thread = kOther});
  ASSERT_FALSE(joined);
  EXPECT_EQ(Find("1", kOther), (*file)->node());
  EXPECT_NE(Find("1"), (*file)->node());
  joined = fs_->Open((*file)->node(), {.write = true, .thread = kOther});
  ASSERT_TRUE(joined);
  ASSERT_TRUE(fs_->Write(**joined, 0, AsBytes("z")));
  fs_->Release(*std::move(joined));
  EXPECT_EQ(Text(Open(Find("1"))), "b") << "one of them still writes";
  fs_->Release(*std::move(file));
  EXPECT_EQ(Text(Open(Find("1"))), "z");
}

TEST_F(WritableVolume, WhoWasLedToAVersionIsNotLedThereOnceTheChunkIsRemoved) {
  constexpr pid_t kOther = 13;
  for (const std::string when : {"before the look-up", "before the open"}) {
    SCOPED_TRACE(when);
    Put("1", "b");
    auto file = fs_->Open(Find("1"), {.write = true, .thread = kWriter});
    ASSERT_TRUE(file);
    ASSERT_FALSE(fs_->Open(Find("1"), {.write = true, .thread = kOther}));
    if (when == "before the open") {
      EXPECT_EQ(Find("1", kOther), (*file)->node());
    }
    ASSERT_TRUE(fs_->Remove(kRootNode, "1"));
    if (when == "before the open") {
      auto joined = fs_->Open((*file)->node(), {.write = true, .thread = kOther});
      ASSERT_TRUE(joined) << "the file without a name that it found";
      fs_->Release(*std::move(joined));
    }
    EXPECT_EQ(Find("1", kOther), 0U);
    fs_->Release(*std::move(file));
  }
}

TEST_F(WritableVolume, AThreadWhoseOpenFailedOnItsWayIsLedToWhatIsCommitted) {
  constexpr pid_t kOther = 13;
  Put("0", "x");
  auto file = fs_->Open(Find("1"), {.write = true, .thread = kWriter});
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("w")));
  for (const bool write : {false, true}) {
    SCOPED_TRACE(write);
    ASSERT_FALSE(fs_->Open(Find("1"), {.write = true, .thread = kOther}));
    // Its second attempt ends with a look-up that fails. Then it opens the chunk for something
    // else.
    const OpenRequest other{.write = write, .truncate = write, .thread = kOther};
    const NodeId node = Find("1", kOther);
    EXPECT_EQ(node, (*file)->node());
    const auto astray = fs_->Open(node, other);
    ASSERT_FALSE(astray);
    EXPECT_TRUE(IsStaleName(astray.error()));
    auto opened = fs_->Open(Find("1", kOther), other);
    ASSERT_TRUE(opened) << opened.error().message;
    if (write) {
      fs_->Release(*std::move(opened));
    } else {
      EXPECT_EQ(Text(std::move(opened)), "b");
    }
  }
  ASSERT_TRUE(fs_->Sync(**file));
  EXPECT_EQ(Text(Open(Find("1"))), "w") << "who truncates begins a version of its own";
  fs_->Release(*std::move(file));
}

TEST_F(WritableVolume, ALookUpThatFailsEndsTheOpenThatItWasFor) {
  constexpr pid_t kOther = 13;
  Put("0", "x");
  auto file = fs_->Open(Find("1"), {.write = true, .thread = kWriter});
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("much more")));
  ASSERT_FALSE(fs_->Open(Find("1"), {.write = true, .thread = kOther}));
  EXPECT_EQ(Find("1", kOther), (*file)->node());
  EXPECT_FALSE(fs_->Lookup(kRootNode, std::string(300, 'n'), kOther));
  const auto entry = fs_->Lookup(kRootNode, "1", kOther);
  ASSERT_TRUE(entry);
  EXPECT_NE(entry->node, (*file)->node());
  EXPECT_EQ(entry->attributes.size, 1u) << "as others see it";
  fs_->Release(*std::move(file));
}

TEST_F(WritableVolume, WhoComesToANodeTwiceHasNoNameAndWaitsForItsWriter) {
  constexpr pid_t kOther = 13;
  Put("0", "x");  // the names of this array are looked up each time
  const NodeId node = Find("1");
  auto writer = Open(node, true);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(fs_->Write(**writer, 0, AsBytes("y")));
  const OpenRequest request{.write = true, .truncate = true, .thread = kOther};
  EXPECT_FALSE(fs_->Open(node, request)) << "who comes by a name looks it up";
  std::thread closing([&] {
    ASSERT_TRUE(fs_->Flush(**writer, 0));
    fs_->Release(*std::move(writer));
  });
  auto second = fs_->Open(node, request);
  closing.join();
  ASSERT_TRUE(second) << "through /proc/self/fd";
  EXPECT_EQ(Text(Open(Find("1"))), "y") << "two who truncate never write to the same version";
  ASSERT_TRUE(fs_->Write(**second, 0, AsBytes("z")));
  ASSERT_TRUE(fs_->Flush(**second, 0));
  fs_->Release(*std::move(second));
  EXPECT_EQ(Text(Open(Find("1"))), "z");
}

TEST_F(WritableVolume, ADocumentIsWrittenAtItsNodeWhileOthersReadIt) {
  const NodeId node = Find("zarr.json");
  auto writer = Open(node, true);
  ASSERT_TRUE(writer);
  EXPECT_EQ(Text(Open(node)), "look again");
  auto reader = Open(Find("zarr.json"));
  ASSERT_TRUE(reader);
  EXPECT_NE((*reader)->node(), node);
  fs_->Release(*std::move(reader));
  fs_->Release(*std::move(writer));
}

TEST_F(WritableVolume, AFailureAtTheReleaseNamesWhatTheFileWasToBecome) {
  const NodeId node = Find("zarr.json");
  auto document = Open(node, true);
  ASSERT_TRUE(document);
  ASSERT_TRUE(fs_->Write(**document, 0, AsBytes("{")));
  fs_->Forget(node, 1);  // which the kernel may send before RELEASE
  fs_->Release(*std::move(document));
  EXPECT_NE(fs_->superblock().errors.Text().find("release /zarr.json EINVAL"), std::string::npos)
      << fs_->superblock().errors.Text();
  Put("0", "x");
  auto chunk = fs_->Open(Find("0"), {.write = true, .thread = kWriter});
  if (!chunk) chunk = fs_->Open(Find("0", kWriter), {.write = true, .thread = kWriter});
  ASSERT_TRUE(chunk);
  ASSERT_TRUE(fs_->Write(**chunk, 0, AsBytes("too long")));
  ASSERT_TRUE(Rename("0", "3"));
  fs_->Release(*std::move(chunk));
  const std::string errors = fs_->superblock().errors.Text();
  EXPECT_NE(errors.find("release /3 EINVAL"), std::string::npos) << errors;
  EXPECT_NE(errors.find("expected exactly 1 bytes, found 8; the previous version stays"),
            std::string::npos)
      << errors;
}

TEST_F(WritableVolume, AFailureIsReportedByANameAlsoWhereItsNodeIsGone) {
  fs_->Report("read", NodeId{1} << 40, "", Error{ErrorCode::kConflict, "gone", 0});
  EXPECT_NE(fs_->superblock().errors.Text().find("read /(a file that is gone) ESTALE"),
            std::string::npos);
}

// Between the LOOKUP of its open(2) and the CREATE.
TEST_F(WritableVolume, AScratchFileThatAnotherProgramHasCreatedMeanwhileIsTruncated) {
  auto first = fs_->Create(kRootNode, "tmp", {.write = true, .thread = kWriter});
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(fs_->Write(*first->file, 0, AsBytes("before")));
  auto second =
      fs_->Create(kRootNode, "tmp", {.write = true, .truncate = true, .thread = kWriter + 1});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->entry.node, first->entry.node);
  EXPECT_EQ(second->entry.attributes.size, 0u);
  fs_->Release(std::move(first->file));
  fs_->Release(std::move(second->file));
  EXPECT_EQ(Text(Open(Find("tmp"))), "");
}

TEST_F(WritableVolume, WhatIsDroppedAfterACommitStaysInANodeThatNobodyIsGivenAnyMore) {
  auto created = fs_->Create(kRootNode, "3", {.write = true, .thread = kWriter});
  ASSERT_TRUE(created);
  OpenFilePtr& file = created->file;
  ASSERT_TRUE(fs_->Write(*file, 0, AsBytes("x")));
  ASSERT_TRUE(fs_->Sync(*file));
  ASSERT_TRUE(fs_->Write(*file, 0, AsBytes("too long")));
  EXPECT_FALSE(fs_->Flush(*file, kWriter));
  EXPECT_EQ(Text(Open(Find("3"))), "x");
  fs_->Release(std::move(file));
  const NodeId node = Find("3");
  EXPECT_NE(node, created->entry.node) << "the kernel may have pages of what was dropped";
  EXPECT_EQ(Text(Open(node)), "x");
  ASSERT_TRUE(fs_->FlushAll());
  EXPECT_EQ(Text(Open(Find("3"))), "x");
}

class CountingNotifier final : public KernelNotifier {
 public:
  void InvalidateEntry(NodeId, const std::string& name) override { names.insert(name); }
  void InvalidateInode(NodeId) override { ++inodes; }
  std::set<std::string> names;
  int inodes = 0;
};

TEST_F(WritableVolume, NobodyIsToldOfWhatWeHavePublishedOurselves) {
  Find("0");
  Put("0", "x");
  ASSERT_TRUE(fs_->FlushAll());
  CountingNotifier notifier;
  for (const char* key : {"0.__lock", "0.new.__lock", "0"}) fs_->Refresh({key, false}, notifier);
  EXPECT_TRUE(notifier.names.empty());
  EXPECT_EQ(notifier.inodes, 0);
  EXPECT_EQ(Text(Open(Find("0"))), "x");
}

TEST_F(WritableVolume, EverybodyIsToldOfWhatOthersPutInItsPlace) {
  Find("0");
  Put("0", "x");
  ASSERT_TRUE(fs_->FlushAll());
  const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  for (const auto& [key, bytes] : array.Encode({{0, "y"}, {1, "b"}})) source_.Write(key, bytes);
  CountingNotifier notifier;
  fs_->Refresh({"0", false}, notifier);
  EXPECT_EQ(notifier.names, (std::set<std::string>{"0", "1"}));
  EXPECT_NE(notifier.inodes, 0);
  EXPECT_EQ(Text(Open(Find("0"))), "y");
}

// As where too many versions were published to remember all of them.
TEST_F(WritableVolume, WhatIsRememberedOutlivesANewGenerationNumber) {
  Put("0", "x");
  ASSERT_TRUE(fs_->FlushAll());
  ASSERT_TRUE(fs_->SetAttributes(Find("0"), nullptr, {{}, timespec{1500000000, 0}, {}}, 0));
  const auto tree = fs_->volume().parts().datasets->Find("")->trees.front();
  ShardedOf(*tree).shards().Renew(0);
  CountingNotifier notifier;
  fs_->Refresh({"0", false}, notifier);
  EXPECT_EQ(notifier.names, (std::set<std::string>{"0", "1"}));
  const auto entry = fs_->Lookup(kRootNode, "0");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->attributes.modified.tv_sec, 1500000000);
  EXPECT_EQ(Text(Open(entry->node)), "x");
}

TEST_F(WritableVolume, ChunksAreOverwrittenOneAfterTheOtherAtTheNodesThatAreLookedUp) {
  Put("0", "x");
  for (const char* text : {"p", "q", "r"}) {
    const NodeId node = Find("1");
    EXPECT_EQ(Find("1"), node) << "stat(2) before open(2)";
    auto file = Open(node, true);
    ASSERT_TRUE(file);
    ASSERT_TRUE(fs_->Write(**file, 0, AsBytes(text)));
    ASSERT_TRUE(fs_->Flush(**file, kWriter));
    fs_->Release(*std::move(file));
    EXPECT_EQ(Text(Open(Find("1"))), text);
  }
}

TEST_F(WritableVolume, WhatIsRemovedWhileItIsWrittenStaysRemoved) {
  Put("0", "x");
  const NodeId node = Find("0");
  auto file = Open(node, true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("y")));
  ASSERT_TRUE(fs_->Remove(kRootNode, "0"));
  EXPECT_EQ(fs_->GetAttributes(node)->attributes.size, 1U) << "fstat(2)";
  ASSERT_TRUE(fs_->Sync(**file));
  EXPECT_TRUE(fs_->Flush(**file, kWriter));
  fs_->Release(*std::move(file));
  EXPECT_EQ(Find("0"), 0U);

  auto created = fs_->Create(kRootNode, "3", {.write = true, .thread = kWriter});
  ASSERT_TRUE(created);
  ASSERT_TRUE(fs_->Write(*created->file, 0, AsBytes("y")));
  ASSERT_TRUE(fs_->Remove(kRootNode, "3")) << "where the kernel still knows the name";
  EXPECT_EQ(fs_->GetAttributes(created->entry.node)->attributes.size, 1U);
  EXPECT_TRUE(fs_->Flush(*created->file, kWriter));
  fs_->Release(std::move(created->file));
  EXPECT_EQ(Find("3"), 0U);
  Put("3", "z");
  EXPECT_EQ(Text(Open(Find("3"))), "z");
}

TEST_F(WritableVolume, WhoOpensATruncatedChunkBeginsWithNothing) {
  Put("0", "x");
  auto truncated = Open(Find("1"), true);
  ASSERT_TRUE(truncated);
  EXPECT_TRUE(fs_->Flush(**truncated, kWriter));
  fs_->Release(*std::move(truncated));
  EXPECT_EQ(Text(Open(Find("1"))), "b") << "nobody has written anything";
  auto untouched = fs_->Open(Find("1"), {.write = true});
  ASSERT_TRUE(untouched);
  EXPECT_EQ((*untouched)->staged()->size(), 0U);
  fs_->Release(*std::move(untouched));
  EXPECT_EQ(Text(Open(Find("1"))), "b");
  auto appended = fs_->Open(Find("1"), {.write = true});
  ASSERT_TRUE(appended);
  EXPECT_EQ((*appended)->page_use(), PageUse::kDirect);
  ASSERT_TRUE(fs_->Write(**appended, OpenFile::kAppend, AsBytes("c")));
  EXPECT_TRUE(fs_->Flush(**appended, kWriter));
  fs_->Release(*std::move(appended));
  EXPECT_EQ(Text(Open(Find("1"))), "c");
  auto later = fs_->Open(Find("1"), {.write = true});
  ASSERT_TRUE(later);
  EXPECT_EQ((*later)->staged()->size(), 1U);
  fs_->Release(*std::move(later));
}

TEST_F(WritableVolume, TruncatingByPathToNothingSucceedsAndOtherWrongLengthsDoNot) {
  Put("0", "x");
  EXPECT_TRUE(fs_->SetAttributes(Find("1"), nullptr, {0, {}, {}}, 0));
  EXPECT_EQ(Text(Open(Find("1"))), "b");
  const auto longer = fs_->SetAttributes(Find("1"), nullptr, {2, {}, {}}, 0);
  ASSERT_FALSE(longer);
  EXPECT_EQ(ErrnoOf(longer.error()), EINVAL);
  auto file = fs_->Open(Find("1"), {.write = true});
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("c")));
  fs_->Release(*std::move(file));
  EXPECT_EQ(Text(Open(Find("1"))), "c");
}

TEST_F(WritableVolume, OfTwoWhoLeaveWhatCannotBeAChunkOneIsTold) {
  Put("0", "x");
  auto one = fs_->Open(Find("1"), {.write = true, .thread = kWriter});
  ASSERT_TRUE(one);
  auto two = fs_->Open((*one)->node(), {.write = true, .thread = kWriter});
  ASSERT_TRUE(two);
  ASSERT_TRUE(fs_->Write(**one, 0, AsBytes("too long")));
  EXPECT_TRUE(fs_->Flush(**one, kWriter)) << "the other one may go on writing";
  EXPECT_FALSE(fs_->Flush(**two, kWriter)) << "before the release of the first";
  ASSERT_TRUE(fs_->Write(**one, 0, AsBytes("still")));
  EXPECT_TRUE(fs_->Flush(**two, kWriter));
  EXPECT_FALSE(fs_->Flush(**one, kWriter));
  fs_->Release(*std::move(one));
  fs_->Release(*std::move(two));
  EXPECT_EQ(Text(Open(Find("1"))), "b");
}

// Its RELEASE comes whenever the kernel sends it. Where the close could not seal the chunk, and a
// later one could, another version may have been acknowledged meanwhile.
TEST_F(WritableVolume, WhatACloseHasRefusedDoesNotReplaceALaterVersion) {
  Put("0", "x");
  for (const bool writes_on : {false, true}) {
    auto file = Open(Find("1"), true);
    if (!file) file = Open(Find("1"), true);
    ASSERT_TRUE(file);
    ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("o")));
    const auto staged = Staged();
    ASSERT_EQ(staged.size(), 1u);
    std::filesystem::rename(staged.front(), source_.path() + "/away");
    EXPECT_FALSE(fs_->Flush(**file, kWriter));
    std::filesystem::rename(source_.path() + "/away", staged.front());
    Put("1", "n");
    // As what is written to a mapping after the close.
    if (writes_on) {
      ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("m")));
    }
    fs_->Release(*std::move(file));
    EXPECT_EQ(Text(Open(Find("1"))), writes_on ? "m" : "n");
  }
}

TEST_F(WritableVolume, ARenamedChunkKeepsItsTime) {
  Put("0", "x");
  ASSERT_TRUE(fs_->SetAttributes(Find("0"), nullptr, {{}, timespec{1500000000, 0}, {}}, 0));
  ASSERT_TRUE(Rename("0", "1"));
  const auto entry = fs_->Lookup(kRootNode, "1");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->attributes.modified.tv_sec, 1500000000);
  EXPECT_EQ(Text(Open(entry->node)), "x");
  EXPECT_EQ(Find("0"), 0U);
}

TEST_F(WritableVolume, AChunkIsRenamedOnceTheKernelHasADentryOfItWithoutATimeToLive) {
  const NodeId stored = Find("0");
  const Status first = fs_->Rename(kRootNode, "0", kRootNode, "1", true);
  ASSERT_FALSE(first);
  EXPECT_TRUE(IsStaleName(first.error())) << first.error().message;
  EXPECT_EQ(Text(Open(Find("1"))), "b") << "nothing has happened yet";
  const auto again = fs_->Lookup(kRootNode, "0");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->timeout_milliseconds, 0U);
  ASSERT_TRUE(fs_->Rename(kRootNode, "0", kRootNode, "1", true));
  EXPECT_EQ(Text(Open(stored)), "look again");
  // The name is written anew: who has kept a node of the old one comes neither to that nor to the
  // new name's bytes.
  Put("0", "y");
  EXPECT_EQ(Text(Open(stored)), "look again");
  EXPECT_NE(Find("0"), stored);
  EXPECT_EQ(Text(Open(Find("0"))), "y");
  EXPECT_EQ(Text(Open(Find("1"))), "a");
  EXPECT_FALSE(WasDropped("1"));
}

TEST_F(WritableVolume, ADescriptorOfAChunkThatWasRenamedBringsTheOldNameNotBack) {
  const NodeId node = Find("0");
  ASSERT_TRUE(Rename("0", "1"));
  EXPECT_EQ(Text(Open(node, true)), "look again");
  auto file = Open(node, true);
  ASSERT_TRUE(file) << "a file without a name, as on a disk";
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("z")));
  EXPECT_TRUE(fs_->Flush(**file, 0));
  fs_->Release(*std::move(file));
  EXPECT_EQ(Find("0"), 0U);
  EXPECT_EQ(Text(Open(Find("1"))), "a");
}

TEST_F(WritableVolume, AChunkThatIsRemovedBetweenLookUpAndOpenIsAFileWithoutAName) {
  Put("0", "x");
  const NodeId node = Find("0");  // looked up each time, while the array is written to
  ASSERT_TRUE(fs_->Remove(kRootNode, "0"));
  auto file = Open(node, true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("z")));
  EXPECT_TRUE(fs_->Flush(**file, 0));
  fs_->Release(*std::move(file));
  EXPECT_EQ(Find("0"), 0U);
}

TEST_F(WritableVolume, WhatWasOnlySeenWhileItsArrayIsWrittenToIsRenamedAtOnce) {
  Put("0", "x");
  Find("0");
  ASSERT_TRUE(fs_->Rename(kRootNode, "0", kRootNode, "1", true));
  EXPECT_EQ(Text(Open(Find("1"))), "x");
}

TEST(RequestEpochTest, WhoWaitsOutsideHoldsUpNobody) {
  RequestEpoch epoch;
  const auto ticket = epoch.Enter();
  RequestEpoch::Outside([&] { epoch.WaitForRunning(); });
  RequestEpoch::Outside([&] { epoch.WaitForRunning(); });
}

TEST_F(WritableVolume, AChunkWhoseSpoolFileIsGoneIsSaidAndTheOthersAreStillPublished) {
  Put("0", "x");
  ASSERT_EQ(Sealed().size(), 1U);
  std::filesystem::remove(Sealed()[0]);
  Put("1", "y");
  const auto node = Find("0");
  auto opened = Open(node);
  const std::string text = Text(std::move(opened));
  EXPECT_NE(text.find("removed from the spool"), std::string::npos)
      << "not the old bytes: " << text;
  const Status flushed = fs_->FlushAll();
  ASSERT_FALSE(flushed);
  EXPECT_NE(flushed.error().message.find("removed from the spool"), std::string::npos);
  EXPECT_TRUE(fs_->FlushAll()) << "told once";
  EXPECT_EQ(fs_->write_status()->lost, 1U);
  EXPECT_EQ(fs_->write_status()->dirty_chunks, 0U);
  EXPECT_EQ(Text(Open(Find("1"))), "y");
  Mount();
  EXPECT_EQ(Text(Open(Find("0"))), "a") << "as in the shard";
  EXPECT_EQ(Text(Open(Find("1"))), "y");
}

TEST_F(WritableVolume, AtTheSpoolsCapRemovalsWaitAsWritesDo) {
  options_.spool_files = 1;
  Mount();
  for (const char* name : {"0", "1"}) {
    const Status removed = fs_->Remove(kRootNode, name);
    EXPECT_TRUE(removed) << name << ": " << removed.error().message;
  }
  EXPECT_EQ(Find("0"), 0U);
  EXPECT_TRUE(fs_->FlushAll());
  EXPECT_EQ(fs_->write_status()->spool_files, 0U);
}

TEST_F(WritableVolume, ADamagedSpoolFileIsQuarantinedAndCounted) {
  Put("0", "x");
  const auto sealed = Sealed();
  ASSERT_EQ(sealed.size(), 1U);
  fs_.reset();
  std::ofstream(sealed[0], std::ios::trunc) << "z";
  Mount();
  const SpoolStatus status = *fs_->write_status();
  EXPECT_EQ(status.damaged, 1U);
  ASSERT_EQ(status.quarantined.size(), 1U);
  EXPECT_EQ(status.quarantined[0].chunk, "0");
  EXPECT_TRUE(std::filesystem::exists(status.quarantined[0].path));
  EXPECT_EQ(status.dirty_chunks, 0U);
  EXPECT_EQ(Text(Open(Find("0"))), "a");
}

TEST_F(WritableVolume, OnlyItsOwnerMayEnterTheSpool) {
  for (const mode_t mask : {mode_t{0}, mode_t{0277}}) {
    fs_.reset();
    for (const auto& entry : std::filesystem::directory_iterator(spool_.path())) {
      std::filesystem::remove_all(entry.path());
    }
    const mode_t before = ::umask(mask);
    Mount();
    Put("0", "x");
    ::umask(before);
    std::size_t seen = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(spool_.path())) {
      const auto mode = static_cast<unsigned>(entry.status().permissions());
      EXPECT_EQ(mode, entry.is_directory() ? 0700U : 0600U) << mask << entry.path();
      ++seen;
    }
    EXPECT_GT(seen, 5U);
  }
}

TEST_F(WritableVolume, ASpoolFolderThatOthersMayEnterIsRefused) {
  fs_.reset();
  std::filesystem::permissions(spool_.path(), std::filesystem::perms(0750));
  const auto refused = OpenVolume(options_, changes_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("0750"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find(spool_.path()), std::string::npos);
  std::filesystem::permissions(spool_.path(), std::filesystem::perms(0700));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(spool_.path().c_str(), 65534, 65534), 0);
  const auto of_another = OpenVolume(options_, changes_);
  ASSERT_EQ(::chown(spool_.path().c_str(), 0, 0), 0);
  ASSERT_FALSE(of_another);
  EXPECT_NE(of_another.error().message.find("65534"), std::string::npos);
}

// By a program that has looked the name up while the chunk was being written.
TEST_F(WritableVolume, TruncatingANodeWhoseWriterHasClosedChangesNoChunk) {
  NodeId node = Find("1");
  ASSERT_FALSE(Open(node, true)) << "the name may be cached";
  node = Find("1");
  auto file = Open(node, true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("z")));
  ASSERT_TRUE(fs_->Flush(**file, 0));
  fs_->Release(*std::move(file));
  AttributeChange change;
  change.size = 1;
  const auto changed = fs_->SetAttributes(node, nullptr, change, 5);
  ASSERT_FALSE(changed);
  EXPECT_TRUE(IsStaleName(changed.error())) << "the name leads to another node";
  EXPECT_EQ(Text(Open(Find("1"))), "z");
}

TEST_F(WritableVolume, AWriterInPlaceIsNotSentAwayTwice) {
  const NodeId node = Find("0");
  auto reader = Open(node);
  ASSERT_TRUE(reader);
  const auto open = [&](NodeId at, pid_t thread) {
    return fs_->Open(at, {.read = true, .write = true, .thread = thread});
  };
  ASSERT_FALSE(open(node, 1)) << "a reader has it open";
  // Between the two look-ups of thread 1 others open the chunk, without and with O_TRUNC.
  ASSERT_FALSE(open(Find("0", 3), 3));
  auto truncating = Open(Find("0", 2), true);
  ASSERT_TRUE(truncating);
  auto first = open(Find("0", 1), 1);
  ASSERT_TRUE(first);
  auto second = open(Find("0", 3), 3);
  ASSERT_TRUE(second);
  EXPECT_EQ((*first)->node(), (*second)->node()) << "they write the same version";
  EXPECT_NE((*first)->node(), (*truncating)->node());
  ASSERT_TRUE(fs_->Write(**second, 0, AsBytes("z")));
  EXPECT_EQ(Text(*std::move(first)), "z");
  EXPECT_EQ(Text(*std::move(reader)), "a");
  fs_->Release(*std::move(truncating));
  fs_->Release(*std::move(second));
  EXPECT_EQ(Text(Open(Find("0"))), "z");
}

TEST_F(WritableVolume, AWriterInPlaceWithoutANameTakesTheNodeOver) {
  const NodeId node = Find("0");
  const OpenRequest request{.read = true, .write = true, .thread = kWriter};
  ASSERT_FALSE(fs_->Open(node, request));
  auto file = fs_->Open(node, request);
  ASSERT_TRUE(file) << "through /proc/self/fd no name is looked up";
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes("z")));
  fs_->Release(*std::move(file));
  EXPECT_EQ(Text(Open(Find("0"))), "z");
}

}  // namespace
}  // namespace unshard
