// What only trees of the precomputed format do (all else: chunk_tree_test).
#include <gtest/gtest.h>

#include <atomic>

#include "store/chunks/precomputed_tree.h"
#include "store/chunks/zarr_tree.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

class CountingLocator final : public ChunkLocator {
 public:
  explicit CountingLocator(std::shared_ptr<const ChunkLocator> locator)
      : locator_(std::move(locator)) {}
  ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    return locator_->Locate(cell);
  }
  bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    ++cells;
    return locator_->CellAt(slot, cell);
  }
  mutable std::atomic<std::uint64_t> cells{0};

 private:
  const std::shared_ptr<const ChunkLocator> locator_;
};

// It is asked for each chunk that is committed.
TEST(PrecomputedTreeTest, TheChunksOfAShardAreCountedOnce) {
  ShardingSpec spec;
  spec.preshift_bits = 2;
  spec.minishard_bits = 1;
  spec.shard_bits = 3;
  const ShardedSource source = PrecomputedSource({4, 4, 3}, {1, 1, 1}, spec);
  const auto locator = std::make_shared<CountingLocator>(source.locator);
  const auto store = std::make_shared<MemoryStore>();
  const auto tree = MakePrecomputedTree(
      5,
      std::make_shared<ShardSet>(store, "top", source.format, source.keys, nullptr,
                                 std::make_shared<IndexCache>(1 << 20), ShardSetOptions()),
      nullptr, *source.precomputed, locator, store);
  std::uint64_t chunks = 0;
  for (std::uint64_t shard = 0; shard < 8; ++shard) chunks += tree->ChunksInShard(shard);
  EXPECT_EQ(chunks, 4u * 4 * 3);
  EXPECT_EQ(tree->ChunksInShard(0), 8u);
  EXPECT_EQ(tree->ChunksInShard(7), 4u) << "the ids of z = 3 are none of the grid";
  const std::uint64_t counted = locator->cells;
  EXPECT_EQ(counted, 8u * 8);
  for (std::uint64_t shard = 0; shard < 8; ++shard) {
    static_cast<void>(tree->ChunksInShard(shard));
  }
  EXPECT_EQ(locator->cells, counted);
}

}  // namespace
}  // namespace unshard
