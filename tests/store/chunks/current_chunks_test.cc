// What readers see of a chunk before, while and after it is committed and published.
#include "store/chunks/current_chunks.h"

#include "codec/core/checksum.h"
#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

class CurrentChunksTest : public WritingParts {};

TEST_F(CurrentChunksTest, TheLatestCommittedVersionIsSeenBeforeTheShard) {
  EXPECT_EQ(Current("a/0") + Current("a/1") + Current("a/2"), "ab-");
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/0", "y"));
  ASSERT_TRUE(Commit("a/2", "z"));
  ASSERT_TRUE(Remove("a/1"));
  EXPECT_EQ(Current("a/0") + Current("a/1") + Current("a/2"), "y-z");
  EXPECT_EQ(Stored("a/0") + Stored("a/1") + Stored("a/2"), "ab-");
}

TEST_F(CurrentChunksTest, OncePublishedAVersionIsReadFromTheShard) {
  const auto version = Commit("a/0", "x");
  ASSERT_TRUE(version);
  const auto before = parts_->current.ContentOf(*version);
  ASSERT_TRUE(before);
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(Spooled(), "");
  EXPECT_EQ(Current("a/0"), "x");
  EXPECT_EQ(AsText(ReadAll(**parts_->current.ContentOf(*version), 1)->span()), "x");
  EXPECT_EQ(AsText(ReadAll(**before, 1)->span()), "x") << "opened before the file was discarded";
}

TEST_F(CurrentChunksTest, AVersionThatWasCommittedOverIsAConflict) {
  const auto version = Commit("a/0", "x");
  ASSERT_TRUE(version && Commit("a/0", "y"));
  const auto content = parts_->current.ContentOf(*version);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::kConflict);
}

TEST_F(CurrentChunksTest, AFileThatAnotherProcessRemovedFromTheSpoolIsDataLoss) {
  const auto version = Commit("a/0", "x");
  ASSERT_TRUE(version);
  for (const std::string& path : disk_->Paths()) {
    if (path.rfind("chunks/a/0", 0) != 0) continue;
    ASSERT_TRUE(disk_->Remove(path));
  }
  const auto content = parts_->current.ContentOf(*version);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::kDataLoss) << content.error().message;
}

TEST_F(CurrentChunksTest, TheFingerprintIsThatOfTheShardsBytes) {
  ASSERT_TRUE(Commit("a/0", "x"));
  const auto print = [&](const std::string& path) {
    const ChunkInTree chunk = Chunk(path);
    return parts_->current.StoredFingerprint(chunk.tree, chunk.chunk);
  };
  const auto stored = print("a/0");
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->fingerprint, (ChunkFingerprint{false, 1, Checksum(AsBytes("a"))}));
  EXPECT_EQ(stored->in, (*memory_->Stat("a/0", Deadline::None()))->generation);
  const auto absent = print("a/2");
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->fingerprint, ChunkFingerprint{});
}

}  // namespace
}  // namespace unshard
