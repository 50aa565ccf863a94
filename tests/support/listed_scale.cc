#include "tests/support/listed_scale.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "store/chunks/precomputed_tree.h"
#include "store/object/key.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {

ListedScale::ListedScale(const Capabilities& capabilities, const ShardSetOptions& options) {
  ShardingSpec spec;
  spec.preshift_bits = 3;
  spec.minishard_bits = 2;
  spec.shard_bits = 3;
  const auto source = PrecomputedSource({8 * 4, 8 * 4, 4 * 4}, {4, 4, 4}, spec);
  const auto memory = std::make_shared<MemoryStore>(capabilities);
  counting_ = std::make_shared<CountingStore>(memory);
  std::map<std::uint64_t, std::string> chunks;
  for (std::uint64_t i = 0; i < kChunks; ++i) chunks[i] = "chunk " + std::to_string(i);
  for (const auto& [key, bytes] : source.Encode(chunks)) {
    memory->Put(JoinPath(source.directory, key), bytes);
  }
  auto shards = std::make_shared<ShardSet>(counting_, source.directory, source.format, source.keys,
                                           nullptr, std::make_shared<IndexCache>(1 << 20), options);
  tree_ = MakePrecomputedTree(1, std::move(shards), nullptr, *source.precomputed, source.locator,
                              counting_);
}

std::uint64_t ListedScale::List(std::uint64_t most) {
  std::uint64_t names = 0;
  const Status listed = tree_->List(
      {}, 0, ListMode::kPresent, [&](const ChunkTree::Listed&) { return ++names < most; },
      [](const Error& error, auto) { ADD_FAILURE() << error.message; }, {});
  EXPECT_TRUE(listed);
  return names;
}

}  // namespace unshard
