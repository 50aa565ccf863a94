// What is refused before it is committed.
#include "store/volume/commit_checks.h"

#include <cerrno>

#include "tests/support/sharded_source.h"
#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

class CommitChecksTest : public WritingParts {
 protected:
  Status Check(const std::string& path, const std::string& text) {
    const ChunkInTree chunk = Chunk(path);
    return parts_->checks.CheckBytes(*chunk.tree, chunk.chunk, text.size(),
                                     [&](std::span<std::uint8_t> to) -> Result<std::size_t> {
                                       std::copy_n(text.begin(), to.size(), to.begin());
                                       return to.size();
                                     });
  }
  Status CheckFits(const std::string& path, std::uint64_t size) {
    const ChunkInTree chunk = Chunk(path);
    return parts_->checks.CheckShardFits(*chunk.tree, chunk.chunk, size);
  }
};

TEST_F(CommitChecksTest, BytesThatCannotBeAChunkAreInvalid) {
  EXPECT_TRUE(Check("a/0", "x"));
  for (const char* text : {"", "xy"}) {
    const Status refused = Check("a/0", text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(Check("m/7.index", "no manifest"));
  EXPECT_TRUE(Check("m/7", "fragments can be any bytes"));
}

TEST_F(CommitChecksTest, AFailureToReadTheBytesIsReturned) {
  const ChunkInTree chunk = Chunk("m/7.index");
  const Status failed = parts_->checks.CheckBytes(
      *chunk.tree, chunk.chunk, 100, [](std::span<std::uint8_t>) -> Result<std::size_t> {
        return Fail(ErrorCode::kUnavailable, "test");
      });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
}

TEST_F(CommitChecksTest, AChunkThatIsStoredCompressedHasALimit) {
  ShardingSpec spec;
  spec.data_encoding = ShardEncoding::kGzip;
  const ShardedSource source = PrecomputedSource({64, 64, 64}, {64, 64, 64}, spec, "raw");
  memory_->Put("z/info", source.document);
  limits_.max_chunk_bytes = (64 << 12) - 1;
  Restart();
  const auto chunk = FindChunk(*parts_->datasets, "z/8_8_8", "0-64_0-64_0-64");
  ASSERT_TRUE(chunk);
  const auto check = [&](std::uint64_t size) {
    return parts_->checks.CheckBytes(
        *chunk->tree, chunk->chunk, size,
        [](std::span<std::uint8_t> to) -> Result<std::size_t> { return to.size(); });
  };
  const Status refused = check(64 << 12);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EFBIG);
  EXPECT_NE(check(64).error().system_errno, EFBIG) << "too short, but below the limit";
}

TEST_F(CommitChecksTest, AShardThatIsEncodedAsAWholeHasToFitWithAllThatItHolds) {
  limits_.max_whole_shard_bytes = 4 * 16 + 4 + 2;  // its index, and two chunks
  Restart();
  EXPECT_TRUE(CheckFits("w/0", 2));
  const Status alone = CheckFits("w/0", 3);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().system_errno, EFBIG);
  ASSERT_TRUE(Commit("w/0", "x"));
  EXPECT_TRUE(CheckFits("w/1", 1));
  EXPECT_FALSE(CheckFits("w/1", 2)) << "beside what waits in the spool";
  EXPECT_TRUE(CheckFits("w/0", 2)) << "instead of it";
  EXPECT_TRUE(CheckFits("w/4", 2)) << "another shard";
  ASSERT_TRUE(Publish("w/0"));
  EXPECT_TRUE(CheckFits("w/1", 1));
  EXPECT_FALSE(CheckFits("w/1", 2)) << "beside what is stored";
  EXPECT_TRUE(CheckFits("w/0", 2)) << "instead of it";
  EXPECT_TRUE(CheckFits("a/0", 1000)) << "this one is put together in the store";
}

TEST_F(CommitChecksTest, ATreeWhoseIndexIsAboveTheCapCannotBeWritten) {
  EXPECT_TRUE(parts_->checks.CanWrite(*Chunk("a/0").tree));
  limits_.max_index_bytes = 1;
  Restart();
  const Status refused = parts_->checks.CanWrite(*Chunk("a/0").tree);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace unshard
