// Listings while a publish ends: its chunks are in the overlay before and in their shard after it,
// and a listing has them once, whenever that happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "store/chunks/precomputed_tree.h"
#include "store/chunks/zarr_tree.h"
#include "store/object/key.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

using Chunks = std::map<std::uint64_t, std::string>;
using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

Place PlaceOf(const ShardSlot& slot) { return {slot.shard, slot.page, slot.slot}; }

// One chunk, until it is published.
class OneUnpublished final : public UnpublishedChunks {
 public:
  OneUnpublished(const ShardSlot& slot, bool removed) : slot_(slot), removed_(removed) {}
  // Called before and after each look.
  void OnLook(std::function<void()> look) { look_ = std::move(look); }
  void Publish() { there_ = false; }

  bool empty() const override {
    return Look<bool>([&] { return !there_; });
  }
  bool HoldsChunks(std::uint32_t, const GridDirectory&) const override {
    return Look<bool>([&] { return there_ && !removed_; });
  }
  std::vector<std::uint64_t> Shards(std::uint32_t) const override { return If(true, slot_.shard); }
  std::vector<std::uint64_t> Pages(std::uint32_t, std::uint64_t shard) const override {
    return If(shard == slot_.shard, slot_.page);
  }
  std::vector<Difference> InPage(std::uint32_t, std::uint64_t shard, std::uint64_t page,
                                 std::uint64_t first, std::uint64_t last) const override {
    return Look<std::vector<Difference>>([&]() -> std::vector<Difference> {
      const bool asked = shard == slot_.shard && page == slot_.page;
      if (!there_ || !asked || slot_.slot < first || slot_.slot > last) return {};
      return {{slot_.slot, removed_}};
    });
  }

 private:
  template <class T>
  T Look(const std::function<T()>& answer) const {
    if (look_) look_();
    T found = answer();
    if (look_) look_();
    return found;
  }
  std::vector<std::uint64_t> If(bool asked, std::uint64_t number) const {
    return Look<std::vector<std::uint64_t>>([&]() -> std::vector<std::uint64_t> {
      if (!there_ || !asked) return {};
      return {number};
    });
  }

  const ShardSlot slot_;
  const bool removed_;
  std::function<void()> look_;
  bool there_ = true;
};

class ListingWhilePublishing : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  void SetUp() override {
    ShardingSpec spec;
    spec.preshift_bits = 1;
    spec.minishard_bits = 1;
    spec.shard_bits = 2;
    source_ = std::get<0>(GetParam()) ? ZarrSource({4, 8, 8}, {1, 2, 2}, {2, 2, 2})
                                      : PrecomputedSource({8, 8, 16}, {4, 4, 4}, spec);
  }

  void Make(const Chunks& stored) {
    const bool remote = std::get<1>(GetParam());
    memory_ = std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = !remote});
    for (const auto& [key, bytes] : source_.Encode(stored)) {
      memory_->Put(JoinPath(source_.directory, key), bytes);
    }
    ShardSetOptions options;
    options.ttl_milliseconds = 600'000;
    shards_ = std::make_shared<ShardSet>(memory_, source_.directory, source_.format, source_.keys,
                                         nullptr, std::make_shared<IndexCache>(1 << 20), options);
    tree_ = source_.zarr ? MakeZarrTree(1, shards_, nullptr, *source_.zarr, memory_)
                         : MakePrecomputedTree(1, shards_, nullptr, *source_.precomputed,
                                               source_.locator, memory_);
  }

  // Another chunk that is stored in the shard of chunk 0.
  std::uint64_t Neighbour() const {
    std::uint64_t other = 1;
    while (source_.SlotOf(other).shard != source_.SlotOf(0).shard) ++other;
    return other;
  }

  // In the order of a publish.
  void Publish(std::uint64_t shard, const Chunks& now, OneUnpublished& overlay) {
    const std::string key = JoinPath(source_.directory, source_.keys->Key(shard));
    const auto generation = [&]() -> std::optional<Generation> {
      const auto info = memory_->Stat(key, CallerDeadline());
      if (!info || !*info) return std::nullopt;
      return (*info)->generation;
    };
    ShardSet::OwnPublish own;
    own.base = generation();
    auto replacement = *shards_->BeginReplacement(shard, Deadline::None());
    memory_->Put(key, source_.EncodeShards(now).at(shard));
    own.published = generation();
    ASSERT_TRUE(replacement.Finish(own));
    tree_->ForgetListings();
    overlay.Publish();
  }

  void List(const GridDirectory& in, std::vector<Place>& places) {
    std::vector<GridDirectory> directories;
    ASSERT_TRUE(tree_->List(
        in, 0, ListMode::kPresent,
        [&](const ChunkTree::Listed& listed) {
          const bool is_chunk = listed.match.kind == ChunkTree::Match::Kind::kChunk;
          if (is_chunk) places.push_back(PlaceOf(listed.match.chunk.slot));
          if (!is_chunk) directories.push_back(listed.match.directory);
          return true;
        },
        [](const Error& error, auto) { ADD_FAILURE() << error.message; }, {}));
    for (const GridDirectory& directory : directories) List(directory, places);
  }

  // Of `stored` and `now` one has `chunk`: it is published at each look at the overlay in turn.
  void Check(const Chunks& stored, const Chunks& now, std::uint64_t chunk) {
    const ShardSlot slot = source_.SlotOf(chunk);
    std::vector<Place> expected;
    for (const auto& [each, text] : now) expected.push_back(PlaceOf(source_.SlotOf(each)));
    std::sort(expected.begin(), expected.end());
    for (std::uint64_t at = 0;; ++at) {
      Make(stored);
      const auto overlay = std::make_shared<OneUnpublished>(slot, !now.contains(chunk));
      tree_->SetUnpublished(overlay);
      std::vector<Place> before, places;
      List({}, before);  // what is known of the shards is of before the publish
      std::uint64_t looks = 0;
      overlay->OnLook([&] {
        if (looks++ == at) Publish(slot.shard, now, *overlay);
      });
      List({}, places);
      std::sort(places.begin(), places.end());
      EXPECT_EQ(places, expected) << "published at look " << at;
      if (looks <= at) {
        EXPECT_GT(looks, 0U);
        return;
      }
    }
  }

  ShardedSource source_;
  std::shared_ptr<MemoryStore> memory_;
  std::shared_ptr<ShardSet> shards_;
  std::unique_ptr<ShardedTree> tree_;
};

TEST_P(ListingWhilePublishing, HasAChunkOfANewShard) { Check({}, {{3, "three"}}, 3); }

TEST_P(ListingWhilePublishing, HasAnotherChunkOfAShard) {
  Check({{0, "zero"}}, {{0, "zero"}, {Neighbour(), "one"}}, Neighbour());
}

TEST_P(ListingWhilePublishing, HasNoChunkThatIsRemoved) {
  Check({{0, "zero"}, {Neighbour(), "one"}}, {{0, "zero"}}, Neighbour());
}

INSTANTIATE_TEST_SUITE_P(Trees, ListingWhilePublishing,
                         testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param) ? "Zarr" : "Precomputed") +
                                  (std::get<1>(tested.param) ? "Remote" : "Local");
                         });

}  // namespace
}  // namespace unshard
