// Three chunks in a grid of 2^40 cells: what their listings cost in each view.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "store/views/views.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"
#include "tests/support/shown_datasets.h"

namespace unshard {
namespace {

using Kind = ChunkTree::Match::Kind;

const std::vector<std::uint64_t> kShape{1 << 14, 1 << 13, 1 << 13};
const std::map<std::uint64_t, std::string> kChunks{
    {0, "x"}, {(std::uint64_t{1} << 39) + 12345, "x"}, {(std::uint64_t{1} << 40) - 1, "x"}};

ShardedSource SourceOf(const std::string& kind) {
  if (kind == "nested") return ZarrSource(kShape, {1, 1, 1}, {16, 16, 16});
  if (kind == "flat") {
    return ZarrSource(kShape, {1, 1, 1}, {16, 16, 16}, {ChunkKeyEncoding::Kind::kDefault, '.'});
  }
  ShardingSpec spec;
  spec.preshift_bits = 9;
  spec.minishard_bits = 3;
  spec.shard_bits = 28;
  if (kind == "hashed") spec.hash = ChunkIdHash::kMurmurHash3X86_128;
  return PrecomputedSource(kShape, {1, 1, 1}, spec, "raw");
}

class SparseListing
    : public testing::TestWithParam<std::tuple<std::string, std::string_view, bool>> {
 protected:
  void SetUp() override {
    const auto& [kind, view, remote] = GetParam();
    const auto memory = std::make_shared<MemoryStore>(
        Capabilities{.lists = true, .keeps_replaced_versions = !remote});
    const ShardedSource source = SourceOf(kind);
    memory->Put(source.document_name, source.document);
    for (const auto& [key, bytes] : source.Encode(kChunks)) {
      memory->Put(source.directory.empty() ? key : source.directory + "/" + key, bytes);
      ++shards_;
    }
    counting_ = std::make_shared<CountingStore>(memory);
    DatasetTreeOptions options;
    options.view = FindView(view);
    options.shards.ttl_milliseconds = 600'000;
    datasets_ = ShowDatasets(counting_, options);
    ASSERT_EQ(datasets_->trees().size(), 1u);
    tree_ = datasets_->trees().front();
    counting_->Reset();
  }
  // As programs list: a few names at a time.
  void List(const GridDirectory& in) {
    std::vector<GridDirectory> directories;
    std::uint64_t cookie = 0;
    for (bool more = true; more;) {
      more = false;
      int few = 2;
      const Status listed = tree_->List(
          in, cookie, ListMode::kPresent,
          [&](const ChunkTree::Listed& each) {
            if (few-- == 0) return false;
            more = true;
            cookie = each.next_cookie;
            ++names_;
            const bool is_chunk = each.match.kind == Kind::kChunk;
            if (is_chunk) chunks_.insert(tree_->Path(each.match.chunk));
            if (!is_chunk) directories.push_back(each.match.directory);
            return true;
          },
          [](const Error& error, auto) { ADD_FAILURE() << error.message; });
      ASSERT_TRUE(listed) << listed.error().message;
    }
    for (const GridDirectory& directory : directories) List(directory);
  }

  std::shared_ptr<CountingStore> counting_;
  std::unique_ptr<DatasetTree> datasets_;
  std::shared_ptr<ChunkTree> tree_;
  std::uint64_t shards_ = 0, names_ = 0;
  std::set<std::string> chunks_;
};

TEST_P(SparseListing, HasThreeChunksAndAsksForTheirShards) {
  // A listing of the whole grid would go on for days: it ends here.
  const ServedCaller caller(std::chrono::steady_clock::now() + std::chrono::seconds(60));
  List({});
  EXPECT_EQ(chunks_.size(), 3u);
  EXPECT_LE(names_, 1 + 3 * kShape.size()) << "each of the directories leads to a chunk";
  const AccessCounts cost = counting_->total();
  EXPECT_LE(cost.opens, 5 * shards_) << "also where asking for a shard costs as much as listing it";
  EXPECT_LE(cost.lists, 8 * shards_) << "a directory that is not watched is listed each time";
  EXPECT_LE(cost.reads + cost.slices, 8 * shards_) << "the index pages of the shards";
}

INSTANTIATE_TEST_SUITE_P(Views, SparseListing,
                         testing::Combine(testing::Values("nested", "flat", "identity", "hashed"),
                                          testing::ValuesIn(AllViewNames()), testing::Bool()),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(std::get<1>(test.param)) +
                                  (std::get<2>(test.param) ? "_remote" : "_local");
                         });

}  // namespace
}  // namespace unshard
