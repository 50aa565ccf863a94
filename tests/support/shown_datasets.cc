#include "tests/support/shown_datasets.h"

#include <gtest/gtest.h>

#include <utility>

namespace unshard {

std::unique_ptr<DatasetTree> ShowDatasets(std::shared_ptr<ObjectStore> store,
                                          DatasetTreeOptions options) {
  constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
  options.encoded = std::make_shared<ByteBudgetCache>(kMegabyte);
  options.max_chunk_bytes = kMegabyte;
  const auto reader = std::make_shared<ChunkReader>(
      options.encoded, kMegabyte, std::make_shared<ReadCounters>(), store->capabilities());
  auto datasets = std::make_unique<DatasetTree>(
      std::move(store), nullptr, std::make_shared<IndexCache>(kMegabyte), reader, options);
  const Status found = datasets->Discover();
  EXPECT_TRUE(found) << found.error().message;
  return datasets;
}

}  // namespace unshard
