// From the path of a chunk file to its entry.
#include "store/dataset/chunk_in_tree.h"

#include <gtest/gtest.h>

#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

class ChunkInTreeTest : public testing::Test {
 protected:
  // Only `searched` directories are searched for datasets.
  void Open(std::size_t searched) {
    const ShardedSource nested = ZarrSource({4, 4}, {1, 1}, {2, 2});
    store_->Put("far/below/zarr.json", nested.document);
    DatasetTreeOptions options;
    options.max_directories = searched;
    datasets_ = std::make_shared<DatasetTree>(
        store_, nullptr, std::make_shared<IndexCache>(1 << 20), nullptr, options);
    ASSERT_TRUE(datasets_->Discover());
  }
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<DatasetTree> datasets_;
};

TEST_F(ChunkInTreeTest, EveryChunkIsFoundByItsPath) {
  Open(100);
  for (const char* path : {"c/0/0", "c/1/2", "c/3/3"}) {
    const auto found = FindChunk(*datasets_, "far/below", path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(found->tree->Path(found->chunk), path);
    EXPECT_EQ(FindChunk(found->tree, path)->chunk, found->chunk);
  }
}

TEST_F(ChunkInTreeTest, OtherPathsAreNoChunks) {
  Open(100);
  for (const char* path : {"", "c", "c/1", "c/1/", "c/4/0", "c/1/2/3", "x/1/2", "zarr.json"}) {
    EXPECT_FALSE(FindChunk(*datasets_, "far/below", path)) << path;
  }
  EXPECT_FALSE(FindChunk(*datasets_, "far", "c/1/2"));
  EXPECT_FALSE(FindChunk(*datasets_, "elsewhere", "c/1/2"));
}

TEST_F(ChunkInTreeTest, ADirectoryThatWasNotSearchedIsExamined) {
  Open(1);
  ASSERT_TRUE(datasets_->trees().empty());
  EXPECT_TRUE(FindChunk(*datasets_, "far/below", "c/1/2"));
}

}  // namespace
}  // namespace unshard
