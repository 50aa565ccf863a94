// Which names of a directory lead to chunks, and how many cells are looked at for that.
#include "store/chunks/child_collector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <stop_token>
#include <string>

#include "store/chunks/zarr_tree.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

using Chunks = std::map<std::uint64_t, std::string>;
using Names = std::set<std::uint64_t>;

class LookCounter final : public ChunkLocator {
 public:
  explicit LookCounter(std::shared_ptr<const ChunkLocator> below) : below_(std::move(below)) {}
  ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    ++calls;
    return below_->Locate(cell);
  }
  bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    ++calls;
    return below_->CellAt(slot, cell);
  }
  mutable std::atomic<std::uint64_t> calls{0};

 private:
  const std::shared_ptr<const ChunkLocator> below_;
};

class ChildCollectorTest : public testing::Test {
 protected:
  // Chunks of one voxel, in shards of `per_shard` of them.
  void Make(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& per_shard,
            const Chunks& chunks) {
    const ShardedSource source =
        ZarrSource(shape, std::vector<std::uint64_t>(shape.size(), 1), per_shard);
    const auto memory = std::make_shared<MemoryStore>();
    for (const auto& [key, bytes] : source.Encode(chunks)) memory->Put(key, bytes);
    ZarrShardedArray array = *source.zarr;
    locator_ = std::make_shared<LookCounter>(array.locator);
    array.locator = locator_;
    ShardSetOptions options;
    options.ttl_milliseconds = 600'000;
    auto shards = std::make_shared<ShardSet>(memory, "", source.format, source.keys, nullptr,
                                             std::make_shared<IndexCache>(1 << 24), options);
    tree_ = MakeZarrTree(1, std::move(shards), nullptr, array, memory);
    shape_ = shape;
  }
  // The directory below the first indices `path`.
  ViewDirectory In(const std::vector<std::uint64_t>& path) const {
    ViewDirectory in{
        {GridCell(shape_.size()), shape_}, path.size(), {}, shape_[path.size()], false};
    in.holds_directories = path.size() + 1 < shape_.size();
    for (std::size_t d = 0; d < path.size(); ++d) {
      in.below.begin[d] = path[d];
      in.below.end[d] = path[d] + 1;
    }
    in.names.stored = *GridAxis::Regular(in.count, 1);
    in.names.shown = in.names.stored;
    return in;
  }
  Names Found(const ViewDirectory& in, std::uint64_t from = 0, std::size_t most = 1 << 16) {
    ChildCollector collector(*tree_, false, in, from, most, damaged_);
    locator_->calls = 0;
    const Status run = collector.Run(true);
    EXPECT_TRUE(run) << run.error().message;
    end_ = collector.end();
    return collector.found();
  }
  std::uint64_t calls() const { return locator_->calls; }

  const ChunkTree::DamageVisitor damaged_ = [](const Error& error, auto) {
    ADD_FAILURE() << error.message;
  };
  std::shared_ptr<LookCounter> locator_;
  std::unique_ptr<ShardedTree> tree_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t end_ = 0;
};

constexpr std::uint64_t kLong = std::uint64_t{1} << 20;

TEST_F(ChildCollectorTest, LooksAtAsManyCellsAsAreStored) {
  Make({kLong, kLong}, {64, 64}, {{5, "x"}, {3 * kLong + 7, "x"}, {kLong * kLong - 1, "x"}});
  EXPECT_EQ(Found(In({})), (Names{0, 3, kLong - 1}));
  EXPECT_LE(calls(), 3u) << "both shards together hold three chunks";
  EXPECT_EQ(Found(In({3})), (Names{7}));
  EXPECT_LE(calls(), 64u) << "a row of the one shard that is there";
  EXPECT_EQ(Found(In({100})), Names());
  EXPECT_EQ(calls(), 0u) << "none of its shards exists";
}

TEST_F(ChildCollectorTest, WhereAllChunksAreThereLooksAtTheFirstOnes) {
  Chunks all;
  for (std::uint64_t i = 0; i < 128 * 128; ++i) all[i] = "x";
  Make({128, 128}, {64, 64}, all);
  EXPECT_EQ(Found(In({})).size(), 128u);
  EXPECT_EQ(calls(), 128u) << "one chunk of each directory";
  EXPECT_EQ(Found(In({77})).size(), 128u);
  EXPECT_EQ(calls(), 128u);
}

TEST_F(ChildCollectorTest, GivesSoManyNamesFromANumberOn) {
  Chunks some;
  for (std::uint64_t i = 0; i < 10; ++i) some[i * 1000] = "x";
  Make({kLong}, {64}, some);
  EXPECT_EQ(Found(In({}), 0, 3), (Names{0, 1000, 2000}));
  EXPECT_EQ(end_, 3000u);
  EXPECT_EQ(Found(In({}), end_, 3), (Names{3000, 4000, 5000}));
  EXPECT_EQ(Found(In({}), 6001, 3), (Names{7000, 8000, 9000}));
  EXPECT_EQ(end_, kLong);
}

TEST_F(ChildCollectorTest, EndsWhereItsCallerIsStopped) {
  Make({kLong, kLong}, {64, 64}, {{5, "x"}});
  std::stop_source stop;
  stop.request_stop();
  const auto token = [&] { return stop.get_token(); };
  const ServedCaller caller(std::chrono::steady_clock::time_point::max(), token, token);
  ChildCollector collector(*tree_, false, In({}), 0, 10, damaged_);
  const Status run = collector.Run(true);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().system_errno, EINTR);
  const Status listed = tree_->List(
      {2, 0}, 0, ListMode::kPresent, [](auto&&) { return true; }, damaged_);
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().system_errno, EINTR);
}

}  // namespace
}  // namespace unshard
