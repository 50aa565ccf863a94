// Files that are being written: copies of what was there, sealing, writing on after a commit.
#include "fs/write/staged_inode.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

class StagedInodeTest : public testing::Test {
 protected:
  static ContentPtr Content(std::string_view text) {
    const ByteSpan bytes = AsBytes(text);
    return MakeBytesContent(Bytes(ByteVector(bytes.begin(), bytes.end())));
  }
  static std::string Text(StagedInode& staged) {
    const auto piece = staged.Read(0, 1000);
    if (!piece) return piece.error().message;
    return std::string(AsText(std::get<Bytes>(*piece).span()));
  }
  // Commits as "array/<name>", and returns what the spool has then.
  std::string Commit(StagedInode& staged, const std::string& name) {
    std::string text;
    const Status committed = staged.CommitWith([&](StagedFile& file) -> Status {
      UNSHARD_ASSIGN_OR_RETURN(const SpooledChunk chunk, spool_->Seal(&file, "array", name, {}));
      UNSHARD_ASSIGN_OR_RETURN(const auto sealed, spool_->Open(chunk));
      text.resize(chunk.size);
      return sealed->Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()})
          .map([](auto) {});
    });
    return committed ? text : committed.error().message;
  }

  const std::shared_ptr<Spool> spool_ =
      *Spool::Open(std::make_shared<SimulatedDisk>(), {.source = "source"});
};

TEST_F(StagedInodeTest, ItIsWhatItBeganWithUntilItIsWritten) {
  StagedInode staged(spool_, StagedInode::Scratch{}, Content("before"), 1);
  EXPECT_EQ(Text(staged), "before");
  EXPECT_EQ(staged.size(), 6u);
  EXPECT_FALSE(staged.dirty());
  EXPECT_EQ(spool_->usage().files, 0u);
  ASSERT_TRUE(staged.Write(2, AsBytes("XY")));
  EXPECT_EQ(Text(staged), "beXYre");
  EXPECT_TRUE(staged.dirty());
}

TEST_F(StagedInodeTest, WhatTwoAppendIsThere) {
  StagedInode staged(spool_, StagedInode::Scratch{}, Content("before"), 1);
  const auto append = [&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(staged.Write(StagedInode::kEnd, AsBytes("line\n")));
  };
  std::thread other(append);
  append();
  other.join();
  EXPECT_EQ(staged.size(), 6u + 2 * 1000 * 5);
}

// Its bytes cannot be read.
class Unreadable final : public ChunkContent {
 public:
  explicit Unreadable(ErrorCode why) : why_(why) {}
  std::uint64_t size() const override { return 6; }
  Result<FilePiece> Read(std::uint64_t, std::uint64_t) override { return Fail(why_, "unreadable"); }

 private:
  const ErrorCode why_;
};

TEST_F(StagedInodeTest, WhatItBeganWithIsReadOnce) {
  std::weak_ptr<ChunkContent> base;
  ContentPtr content = Content("before");
  base = content;
  StagedInode staged(spool_, StagedInode::Scratch{}, std::move(content), 1);
  ASSERT_TRUE(staged.Reserve());
  ASSERT_TRUE(staged.TakeBase());
  EXPECT_TRUE(base.expired());
  EXPECT_FALSE(staged.dirty());
  EXPECT_EQ(Text(staged), "before");
  EXPECT_EQ(spool_->usage().files, 1u);
  EXPECT_EQ(spool_->usage().bytes, 6u);
  ASSERT_TRUE(staged.Write(2, AsBytes("XY")));
  EXPECT_EQ(Commit(staged, "0"), "beXYre");
  EXPECT_EQ(spool_->usage().files, 1u);
}

TEST_F(StagedInodeTest, WhatCannotBeReadFailsAtTheFirstWriteAndIsNotNeededToTruncate) {
  const auto unreadable = std::make_shared<Unreadable>(ErrorCode::kUnavailable);
  StagedInode staged(spool_, StagedInode::Scratch{}, unreadable, 1);
  ASSERT_TRUE(staged.TakeBase());
  EXPECT_FALSE(staged.Write(0, AsBytes("a")));
  ASSERT_TRUE(staged.Truncate(0));
  ASSERT_TRUE(staged.Write(0, AsBytes("a")));
  EXPECT_EQ(Text(staged), "a");
  const auto replaced = std::make_shared<Unreadable>(ErrorCode::kConflict);
  StagedInode other(spool_, StagedInode::Scratch{}, replaced, 2);
  const Status taken = other.TakeBase();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
}

TEST_F(StagedInodeTest, WhatItBeganWithIsLeftWhereTheSpoolHasNoRoomForIt) {
  const std::shared_ptr<Spool> spool =
      *Spool::Open(std::make_shared<SimulatedDisk>(), {.source = "source", .max_bytes = 3});
  StagedInode staged(spool, StagedInode::Scratch{}, Content("before"), 1);
  ASSERT_TRUE(staged.Reserve());
  const Status taken = staged.TakeBase();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().system_errno, ENOSPC);
  EXPECT_EQ(Text(staged), "before");
  EXPECT_EQ(spool->usage().bytes, 0u);
}

TEST_F(StagedInodeTest, WhoOpensItLearnsThatThereAreNoDescriptorsAndWhoHasOneWrites) {
  const std::shared_ptr<Spool> spool =
      *Spool::Open(std::make_shared<SimulatedDisk>(), {.source = "source", .max_descriptors = 2});
  std::vector<std::unique_ptr<StagedInode>> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(std::make_unique<StagedInode>(spool, StagedInode::Scratch{}, nullptr, i));
  }
  ASSERT_TRUE(files[0]->Reserve());
  ASSERT_TRUE(files[0]->Reserve());  // for nothing more
  ASSERT_TRUE(files[1]->Reserve());
  EXPECT_EQ(spool->usage().files, 2u);
  const Status refused = files[2]->Reserve();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EMFILE);
  ASSERT_TRUE(files[0]->Write(0, AsBytes("a")));
  ASSERT_TRUE(files[1]->Truncate(0));
  EXPECT_EQ(spool->usage().files, 2u);
  // The last who writes leaves, and has written nothing.
  ASSERT_TRUE(files[0]->End());
  ASSERT_TRUE(files[2]->Reserve());
  EXPECT_EQ(files[2]->Open(false, true), StagedInode::Opened::kDirect);
  EXPECT_EQ(files[2]->Close(true), 0u);
  EXPECT_EQ(spool->usage().files, 1u);
}

TEST_F(StagedInodeTest, TruncatingToNothingNeedsNothingOfWhatWasThere) {
  StagedInode staged(spool_, StagedInode::Scratch{}, Content("before"), 1);
  ASSERT_TRUE(staged.Truncate(0));
  EXPECT_EQ(staged.size(), 0u);
  ASSERT_TRUE(staged.Write(1, AsBytes("a")));
  EXPECT_EQ(Text(staged), std::string("\0a", 2));
  ASSERT_TRUE(staged.Truncate(4));
  EXPECT_EQ(staged.size(), 4u);
}

TEST_F(StagedInodeTest, WhatIsWrittenAfterACommitIsAnotherVersion) {
  StagedInode staged(spool_, StagedInode::Scratch{}, nullptr, 1);
  ASSERT_TRUE(staged.Write(0, AsBytes("first")));
  EXPECT_EQ(Commit(staged, "0"), "first");
  EXPECT_FALSE(staged.dirty());
  EXPECT_EQ(Text(staged), "first");
  ASSERT_TRUE(staged.Write(5, AsBytes("+second")));
  EXPECT_TRUE(staged.dirty());
  EXPECT_EQ(Commit(staged, "1"), "first+second");
}

TEST_F(StagedInodeTest, CommittingTwiceMakesTwoWholeVersions) {
  StagedInode staged(spool_, StagedInode::Scratch{}, Content("same"), 1);
  EXPECT_EQ(Commit(staged, "0"), "same");
  EXPECT_EQ(Commit(staged, "1"), "same");
}

TEST_F(StagedInodeTest, ItEndsWhenNobodyHasItOpenOrIsAboutTo) {
  StagedInode staged(spool_, StagedInode::Scratch{}, nullptr, 1);
  ASSERT_EQ(staged.Open(true, true), StagedInode::Opened::kCached);
  ASSERT_TRUE(staged.Hold());
  EXPECT_EQ(staged.Close(true), 0u);
  EXPECT_FALSE(staged.End());
  ASSERT_EQ(staged.Open(true, false), StagedInode::Opened::kCached);
  staged.Release();
  EXPECT_FALSE(staged.End());
  EXPECT_EQ(staged.Close(false), 0u);
  EXPECT_TRUE(staged.End());
  EXPECT_EQ(staged.Open(true, true), StagedInode::Opened::kEnded);
  EXPECT_FALSE(staged.Hold());
}

TEST_F(StagedInodeTest, WhoOnlyWritesAndIsAloneWritesWithoutPages) {
  StagedInode staged(spool_, StagedInode::Scratch{}, nullptr, 1);
  EXPECT_EQ(staged.Open(false, true), StagedInode::Opened::kDirect);
  EXPECT_EQ(staged.Open(false, true), StagedInode::Opened::kDirect);
  EXPECT_FALSE(staged.pages_doubtful());
  EXPECT_EQ(staged.Open(true, false), StagedInode::Opened::kDirect) << "who joins him has none";
  EXPECT_TRUE(staged.pages_doubtful()) << "a reader may map pages";
}

TEST_F(StagedInodeTest, WhereThereMayBePagesAllWritesGoThroughThem) {
  StagedInode staged(spool_, StagedInode::Scratch{}, nullptr, 1);
  EXPECT_EQ(staged.Open(true, true), StagedInode::Opened::kCached);
  EXPECT_EQ(staged.Open(false, true), StagedInode::Opened::kCached);
  staged.Close(true);
  staged.Close(true);
  EXPECT_EQ(staged.Open(false, true), StagedInode::Opened::kCached);
  EXPECT_FALSE(staged.pages_doubtful());
}

TEST_F(StagedInodeTest, AFailedCommitChangesNothing) {
  StagedInode staged(spool_, StagedInode::Scratch{}, nullptr, 1);
  ASSERT_TRUE(staged.Write(0, AsBytes("kept")));
  const Status refused = staged.CommitWith(
      [](StagedFile&) -> Status { return Fail(ErrorCode::kInvalidArgument, "no"); });
  EXPECT_FALSE(refused);
  EXPECT_TRUE(staged.dirty());
  EXPECT_EQ(Commit(staged, "0"), "kept");
}

}  // namespace
}  // namespace unshard
