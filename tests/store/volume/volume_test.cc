// The data layer by itself: what is opened, committed, published and replayed without a mount.
#include "store/volume/volume.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class VolumeTest : public testing::Test {
 protected:
  // An array "a" of eight chunks of one letter, in shards of four.
  VolumeTest() {
    for (const auto& [key, bytes] : array_.Encode({{0, "a"}, {1, "b"}})) {
      source_.Write("a/" + key, bytes);
    }
    source_.Write("a/zarr.json", array_.document);
    options_.source = source_.path();
    options_.spool = spool_.path();
    options_.publish_after_milliseconds = 600'000;
    options_.watch = WatchMode::kOff;
  }

  void Open() {
    volume_.reset();
    auto opened = Volume::Open(options_, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    volume_ = *std::move(opened);
  }

  std::shared_ptr<ChunkTree> Tree() {
    const auto overlay = volume_->parts().datasets->Find("a");
    return overlay && !overlay->trees.empty() ? overlay->trees.front() : nullptr;
  }
  ChunkRef Chunk(const std::string& name) { return Tree()->Resolve({}, name).chunk; }

  WritePipeline::Commit CommitOf(const std::string& name) {
    WritePipeline::Commit commit;
    commit.tree = Tree();
    commit.chunk = Chunk(name);
    return commit;
  }
  Status Put(const std::string& name, const std::string& text) {
    UNSHARD_ASSIGN_OR_RETURN(const auto staged, volume_->writes()->spool()->Stage());
    UNSHARD_RETURN_IF_ERROR(staged->Write(0, AsBytes(text)));
    UNSHARD_RETURN_IF_ERROR(volume_->writes()->CommitBytes(CommitOf(name), *staged));
    return {};
  }

  // What readers of a writable volume see: "-" where there is no such chunk.
  std::string Current(const std::string& name) {
    const auto content = volume_->writes()->current().Current(Tree(), Chunk(name));
    EXPECT_TRUE(content) << content.error().message;
    if (!content || !*content) return "-";
    const auto bytes = ReadAll(**content, 100);
    return bytes ? std::string(AsText(bytes->span())) : bytes.error().message;
  }
  // What its shard holds.
  std::string Stored(const std::string& name) {
    const auto tree = Tree();
    const ChunkRef chunk = Chunk(name);
    const auto facts = tree->chunks().Latest(chunk);
    EXPECT_TRUE(facts) << facts.error().message;
    if (!facts || !*facts) return "-";
    const auto content = MakeStoredContent(tree, chunk, **facts);
    const auto bytes = ReadAll(*content, 100);
    return bytes ? std::string(AsText(bytes->span())) : bytes.error().message;
  }
  std::vector<std::string> Listed() {
    std::vector<std::string> names;
    const Status listed = Tree()->List(
        {}, 0, ListMode::kPresent,
        [&](const ChunkTree::Listed& each) { return names.emplace_back(each.name), true; },
        [](const Error& error, auto) { ADD_FAILURE() << error.message; });
    EXPECT_TRUE(listed) << listed.error().message;
    return names;
  }

  const ShardedSource array_ = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  TemporaryDirectory source_;
  TemporaryDirectory spool_;
  VolumeOptions options_;
  std::unique_ptr<Volume> volume_;
};

using Words = std::vector<std::string>;

TEST_F(VolumeTest, AVolumeThatIsOnlyReadHasNoSpool) {
  options_.read_only = true;
  Open();
  EXPECT_EQ(volume_->writes(), nullptr);
  EXPECT_TRUE(volume_->spools().paths.empty());
  EXPECT_TRUE(std::filesystem::is_empty(spool_.path()));
  EXPECT_EQ(volume_->parts().datasets->found().size(), 1u);
  EXPECT_EQ(Stored("0"), "a");
  EXPECT_EQ(Stored("1"), "b");
  EXPECT_EQ(Stored("2"), "-");
  EXPECT_EQ(Listed(), (Words{"0", "1"}));
}

TEST_F(VolumeTest, CommittedChunksAreSeenAtOnceAndStoredOncePublished) {
  Open();
  ASSERT_TRUE(Put("0", "x"));
  ASSERT_TRUE(Put("5", "y"));
  const auto removed = volume_->writes()->CommitRemoval(CommitOf("1"));
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(Current("0") + Current("1") + Current("5"), "x-y");
  EXPECT_EQ(Listed(), (Words{"0", "5"}));
  EXPECT_EQ(Stored("0") + Stored("1") + Stored("5"), "ab-");
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/1")));

  const Status flushed = volume_->writes()->Flush();
  ASSERT_TRUE(flushed) << flushed.error().message;
  EXPECT_EQ(Stored("0") + Stored("1") + Stored("5"), "x-y");
  EXPECT_TRUE(std::filesystem::exists(source_.At("a/1")));
  EXPECT_EQ(volume_->writes()->status().dirty_chunks, 0u);

  options_.read_only = true;
  Open();
  EXPECT_EQ(Stored("0") + Stored("1") + Stored("5"), "x-y") << "to another process as well";
}

TEST_F(VolumeTest, WhatOneProcessLeftInItsSpoolTheNextOnePublishes) {
  Open();
  ASSERT_TRUE(Put("0", "x"));
  ASSERT_TRUE(Put("0", "z"));
  ASSERT_TRUE(Put("6", "w"));
  const auto path = volume_->spools().paths.front();
  Open();
  EXPECT_EQ(volume_->spools().paths, (Words{path})) << "it is taken over";
  EXPECT_EQ(volume_->writes()->status().dirty_chunks, 2u);
  EXPECT_EQ(Current("0") + Current("6"), "zw");
  EXPECT_EQ(Stored("0") + Stored("6"), "a-");
  const Status flushed = volume_->writes()->Flush();
  ASSERT_TRUE(flushed) << flushed.error().message;
  EXPECT_EQ(Stored("0") + Stored("6"), "zw");
  RemoveEmptySpools(volume_->spools());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(VolumeTest, AReplayedChunkThatAnotherProgramHasChangedIsSetAside) {
  Open();
  ASSERT_TRUE(Put("0", "x"));
  volume_.reset();
  for (const auto& [key, bytes] : array_.Encode({{0, "o"}, {1, "b"}})) {
    source_.Replace("a/" + key, bytes);
  }
  Open();
  EXPECT_EQ(Current("0"), "o");
  ASSERT_EQ(volume_->writes()->status().conflicting.size(), 1u);
  EXPECT_EQ(volume_->writes()->status().conflicting.front().chunk, "0");
  EXPECT_TRUE(volume_->writes()->Flush());
  EXPECT_EQ(Stored("0"), "o");
}

TEST_F(VolumeTest, AFlushThatFailsOtherwiseSaysWhatWasQuarantinedAsWell) {
  options_.strict = true;
  Open();
  ASSERT_TRUE(Put("0", "x"));
  ASSERT_TRUE(Put("5", "y"));
  source_.Replace("a/0", "no shard");
  for (const auto& [key, bytes] : array_.Encode({{5, "o"}})) source_.Replace("a/" + key, bytes);
  const Status damaged = volume_->writes()->Flush();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(damaged.error().message.find("; chunks or files that could not be published: 1 ("),
            std::string::npos)
      << damaged.error().message;
  ASSERT_EQ(volume_->writes()->status().conflicting.size(), 1u);

  for (const auto& [key, bytes] : array_.Encode({{0, "a"}, {1, "b"}})) {
    source_.Replace("a/" + key, bytes);
  }
  EXPECT_TRUE(volume_->writes()->Flush()) << "it was said once";
  EXPECT_EQ(Stored("0") + Stored("5"), "xo");
}

TEST_F(VolumeTest, ARefusedCommitChangesNothing) {
  Open();
  EXPECT_FALSE(Put("0", "two bytes where one is right"));
  EXPECT_EQ(Current("0"), "a");
  EXPECT_EQ(volume_->writes()->status().dirty_chunks, 0u);
}

TEST_F(VolumeTest, ASourceWithoutDatasetsIsRefusedWithAdvice) {
  options_.source = spool_.path();
  const auto refused = Volume::Open(options_, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_NE(refused.error().message.find("name the directory of a dataset"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(spool_.path())) << "and no spool is made";
}

}  // namespace
}  // namespace unshard
