// Commits of chunks: what they seal, and what they leave alone where they are refused.
#include "store/volume/chunk_committer.h"

#include <cerrno>

#include "codec/codecs/gzip.h"
#include "codec/core/checksum.h"
#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

class ChunkCommitterTest : public WritingParts {
 protected:
  ChunkCommit To(const std::string& path) { return {Chunk(path).tree, Chunk(path).chunk}; }
  Result<WrittenVersionPtr> CommitGzipped(const std::string& path, std::string_view file) {
    UNSHARD_ASSIGN_OR_RETURN(const auto staged, Staged(file));
    ChunkCommit commit = To(path);
    commit.gzipped = true;
    return parts_->committer.CommitBytes(commit, *staged);
  }
  static ChunkFingerprint Print(std::string_view text) {
    return {false, text.size(), Checksum(AsBytes(text))};
  }
  SealTerms TermsOf(const WrittenVersionPtr& version) {
    return parts_->written->SpooledOf(*version)->chunk.terms;
  }
};

TEST_F(ChunkCommitterTest, ASealNamesWhatItReplaces) {
  const auto over_a = Commit("a/0", "x");
  const auto over_nothing = Commit("a/2", "y");
  ASSERT_TRUE(over_a && over_nothing);
  EXPECT_EQ(TermsOf(*over_a).base, Print("a"));
  EXPECT_FALSE(TermsOf(*over_a).other_base);
  EXPECT_EQ(TermsOf(*over_nothing).base, ChunkFingerprint{});
  EXPECT_EQ(TermsOf(*over_a).layout, Chunk("a/0").tree->layout_digest());
  EXPECT_FALSE((*over_a)->first);
  EXPECT_TRUE((*over_nothing)->first);
  const auto again = Commit("a/0", "z");
  ASSERT_TRUE(again);
  EXPECT_EQ(TermsOf(*again).base, Print("a"));
  EXPECT_EQ(TermsOf(*again).other_base, Print("x")) << "that may be published in between";
}

TEST_F(ChunkCommitterTest, ASecondCommitReadsNothingOfTheStore) {
  ASSERT_TRUE(Commit("a/0", "x"));
  store_->Reset();
  ASSERT_TRUE(Commit("a/0", "y"));
  ASSERT_TRUE(Remove("a/0"));
  EXPECT_EQ(store_->total().requests(), 0u);
}

TEST_F(ChunkCommitterTest, OfAGzipFileTheChunkInItIsCommitted) {
  const auto version = CommitGzipped("a/0", AsText(GzipEncode(AsBytes("x"))));
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(Current("a/0"), "x");
  EXPECT_EQ((*version)->checksum, Checksum(AsBytes("x")));
  for (const std::string& wrong :
       {std::string("x"), std::string(AsText(GzipEncode(AsBytes("two bytes"))))}) {
    const auto refused = CommitGzipped("a/1", wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(Spooled(), "a/0");
}

TEST_F(ChunkCommitterTest, AGzipFileAboveTheLimitIsNotRead) {
  limits_.max_chunk_bytes = 10;
  Restart();
  const auto refused = CommitGzipped("a/0", "more than ten bytes");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EFBIG);
}

TEST_F(ChunkCommitterTest, WhatIsRefusedChangesNothing) {
  EXPECT_FALSE(Commit("a/0", "two bytes"));
  EXPECT_EQ(Current("a/0"), "a");
  EXPECT_EQ(Spooled(), "");
  EXPECT_TRUE(parts_->dirty.empty());
}

TEST_F(ChunkCommitterTest, AMoveCommitsBothEndsOrNone) {
  const auto staged = Staged("a");
  const auto too_long = Staged("two bytes");
  ASSERT_TRUE(staged && too_long);
  EXPECT_FALSE(parts_->committer.CommitMove(To("a/2"), **too_long, To("a/0")));
  EXPECT_EQ(Current("a/0") + Current("a/2"), "a-");
  const Status moved = parts_->committer.CommitMove(To("a/2"), **staged, To("a/0"));
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(Current("a/0") + Current("a/2"), "-a");
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(Stored("a/0") + Stored("a/2"), "-a");
}

TEST_F(ChunkCommitterTest, ACommitIntoARetiredTreeGoesToItsSuccessor) {
  const ChunkCommit before = To("a/2");
  const auto document = memory_->Open("a/zarr.json", RangeRequest::At(0, 10000), Deadline::None());
  ASSERT_TRUE(document && document->version);
  std::string text(AsText(document->first.span()));
  text.replace(text.find("\"shape\":[8]"), 11, "\"shape\":[7]");
  memory_->Put("a/zarr.json", text);
  parts_->datasets->Reload("a");
  ASSERT_TRUE(before.tree->retired());
  const auto staged = Staged("x");
  const auto version = parts_->committer.CommitBytes(before, **staged);
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ((*version)->tree, Chunk("a/2").tree);
  EXPECT_EQ(Current("a/2"), "x");
}

TEST_F(ChunkCommitterTest, WithoutASuccessorACommitIsAConflict) {
  const ChunkCommit before = To("a/2");
  memory_->Remove("a/zarr.json");
  parts_->datasets->Reload("a");
  const auto staged = Staged("x");
  for (const auto& refused :
       {parts_->committer.CommitBytes(before, **staged), parts_->committer.CommitRemoval(before)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  }
  EXPECT_EQ(Spooled(), "");
}

TEST_F(ChunkCommitterTest, AFirstVersionMayHaveTheArithmeticNodeUnlessPagesAreDoubtful) {
  ChunkCommit commit = To("a/2");
  commit.pages_doubtful = true;
  const auto staged = Staged("x");
  const auto version = parts_->committer.CommitBytes(commit, **staged);
  ASSERT_TRUE(version);
  EXPECT_FALSE((*version)->first);
}

}  // namespace
}  // namespace unshard
