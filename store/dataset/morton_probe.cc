#include "store/dataset/morton_probe.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "store/object/call_failed.h"
#include "store/object/log.h"
#include "store/object/parallel.h"

namespace unshard {
namespace {

constexpr std::size_t kShards = 4;
constexpr std::size_t kListedShards = 256;
constexpr std::size_t kProbedShards = 64;
constexpr std::size_t kProbesAtOnce = 16;
constexpr std::uint64_t kPages = 64;
constexpr std::size_t kIds = 4096;

// What was found, and why something could not be read.
struct Sample {
  std::vector<std::uint64_t> numbers;
  std::optional<Error> failure;

  // Of several failures a denial is the least: it may stand for something that is missing.
  void Note(const Error& error) {
    if (!failure || failure->code == ErrorCode::kPermissionDenied) failure = error;
  }
};

// A few shards that exist, of some that are spread over all that may: as many at a time as are
// asked for together, until there are enough.
Sample ProbeShards(ShardSet& shards, const ShardingSpec& sharding) {
  const std::uint64_t count = std::uint64_t{1} << std::min(sharding.shard_bits, 62u);
  const std::uint64_t step = std::max<std::uint64_t>(count / kProbedShards, 1);
  const std::size_t probes = std::min<std::uint64_t>(count, kProbedShards);
  const std::size_t rounds = (probes + kProbesAtOnce - 1) / kProbesAtOnce;
  const Deadline deadline = CallerDeadline();
  Sample sample;
  std::vector<std::uint64_t>& numbers = sample.numbers;
  for (std::size_t round = 0; round < rounds && numbers.size() < kShards; ++round) {
    std::vector<Result<ShardGenerationPtr>> found((probes - round + rounds - 1) / rounds);
    const auto shard = [&](std::size_t i) { return (round + i * rounds) * step; };
    ForEachInParallel(found.size(), kProbesAtOnce,
                      [&](std::size_t i) { found[i] = shards.Current(shard(i), deadline); });
    for (std::size_t i = 0; i < found.size() && numbers.size() < kShards; ++i) {
      if (!found[i]) sample.Note(found[i].error());
      if (found[i] && (*found[i])->object) numbers.push_back(shard(i));
    }
  }
  return sample;
}

Sample SampleShards(ObjectStore& store, ShardSet& shards, const ShardingSpec& sharding) {
  if (!store.capabilities().lists) return ProbeShards(shards, sharding);
  std::vector<std::uint64_t> numbers;
  const auto listed = store.List(shards.directory(), CallerDeadline(), [&](const ListEntry& entry) {
    if (const auto number = shards.keys().Parse(entry.name)) numbers.push_back(*number);
    return numbers.size() < kListedShards;
  });
  if (!listed && listed.error().code == ErrorCode::kPermissionDenied) {
    return ProbeShards(shards, sharding);
  }
  if (!listed) return {std::move(numbers), listed.error()};
  if (numbers.size() <= kShards) return {std::move(numbers), {}};
  Sample spread;
  for (std::size_t i = 0; i < kShards; ++i) {
    spread.numbers.push_back(numbers[i * numbers.size() / kShards]);
  }
  return spread;
}

// Of the first pages of the sampled shards, as many at a time as are asked for together.
Sample SampleIds(ObjectStore& store, ShardSet& shards, const ShardingSpec& sharding) {
  const Sample found = SampleShards(store, shards, sharding);
  const std::vector<std::uint64_t>& sampled = found.numbers;
  const std::uint64_t page_count = shards.format().page_count();
  const std::uint64_t pages = page_count == 0 ? kPages : std::min(kPages, page_count);
  const Deadline deadline = CallerDeadline();
  Sample sample{{}, found.failure};
  std::vector<std::uint64_t>& ids = sample.numbers;
  for (std::size_t at = 0; at < sampled.size() * pages && ids.size() < kIds; at += kProbesAtOnce) {
    std::vector<Result<std::shared_ptr<const IndexPage>>> loaded(
        std::min<std::size_t>(kProbesAtOnce, sampled.size() * pages - at));
    ForEachInParallel(loaded.size(), kProbesAtOnce, [&](std::size_t i) {
      loaded[i] = [&]() -> Result<std::shared_ptr<const IndexPage>> {
        UNSHARD_ASSIGN_OR_RETURN(const auto generation,
                                 shards.Current(sampled[(at + i) % sampled.size()], deadline));
        return shards.Page(generation, (at + i) / sampled.size(), deadline);
      }();
    });
    for (const auto& page : loaded) {
      if (!page) sample.Note(page.error());
      if (!page || !*page) continue;
      for (const IndexEntry& entry : (*page)->entries()) {
        if (ids.size() < kIds) ids.push_back(entry.slot);
      }
    }
  }
  return sample;
}

bool AllInGrid(const CompressedMorton& code, const std::vector<std::uint64_t>& ids) {
  std::vector<std::uint64_t> cell(code.grid_shape().size());
  for (const std::uint64_t id : ids) {
    if (!code.Decode(id, cell)) return false;
  }
  return true;
}

class DetectedLocator final : public ChunkLocator {
 public:
  DetectedLocator(MortonLocators locators, std::shared_ptr<ObjectStore> store,
                  std::shared_ptr<ShardSet> shards, ShardedDirectory directory)
      : locators_(std::move(locators)),
        store_(std::move(store)),
        shards_(std::move(shards)),
        directory_(std::move(directory)) {}

  ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    if (const ChunkLocator* const chosen = chosen_.load()) return chosen->Locate(cell);
    const ShardSlot slot = locators_.standard->Locate(cell);
    if (slot == locators_.legacy->Locate(cell)) return slot;
    return Chosen().Locate(cell);
  }
  bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    if (const ChunkLocator* const chosen = chosen_.load()) return chosen->CellAt(slot, cell);
    std::vector<std::uint64_t> legacy(cell.size());
    const bool is_cell = locators_.standard->CellAt(slot, cell);
    const bool is_legacy_cell = locators_.legacy->CellAt(slot, legacy);
    const bool same = !is_cell || std::equal(legacy.begin(), legacy.end(), cell.begin());
    if (is_cell == is_legacy_cell && same) return is_cell;
    return Chosen().CellAt(slot, cell);
  }

 private:
  // While it lives this thread looks for the rule, and others wait.
  class Detection {
   public:
    explicit Detection(const DetectedLocator& of) : of_(of) {}
    ~Detection() {
      const std::lock_guard lock(of_.mutex_);
      of_.detecting_ = false;
      of_.changed_.notify_all();
    }
    Detection(const Detection&) = delete;
    Detection& operator=(const Detection&) = delete;

   private:
    const DetectedLocator& of_;
  };

  const ChunkLocator& Chosen() const;

  const MortonLocators locators_;
  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<ShardSet> shards_;
  const ShardedDirectory directory_;
  mutable std::atomic<const ChunkLocator*> chosen_{nullptr};  // of locators_
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  mutable bool detecting_ = false;  // guarded by mutex_
};

const ChunkLocator& DetectedLocator::Chosen() const {
  {
    std::unique_lock lock(mutex_);
    const Status waited = WaitUntil(changed_, lock, CallerDeadline(), "looking for the Morton rule",
                                    [&] { return !detecting_; });
    if (const ChunkLocator* const chosen = chosen_.load()) return *chosen;
    if (!waited) throw CallFailed(waited.error());
    detecting_ = true;
  }
  const Detection detection(*this);
  auto rule = DetectMortonRule(*store_, *shards_, directory_);
  if (!rule) {
    throw CallFailed(std::move(rule).error().Annotate(
        store_->Describe(shards_->directory()) +
        ": detecting the Morton rule of its chunk ids, which morton= can set"));
  }
  if (!*rule) return *locators_.standard;
  const bool is_legacy = *rule == MortonRule::kLegacy;
  if (is_legacy) {
    LogWarning(store_->Describe(shards_->directory()) +
               ": chunk ids follow the Morton rule of CloudVolume and igneous before June 2021");
  }
  const ChunkLocator* const found = is_legacy ? locators_.legacy.get() : locators_.standard.get();
  chosen_.store(found);
  return *found;
}

}  // namespace

Result<std::optional<MortonRule>> DetectMortonRule(ObjectStore& store, ShardSet& shards,
                                                   const ShardedDirectory& directory) {
  const auto standard = CompressedMorton::Make(directory.grid_shape, MortonRule::kStandard);
  const auto legacy = CompressedMorton::Make(directory.grid_shape, MortonRule::kLegacy);
  if (!standard || !legacy) return MortonRule::kStandard;
  const Sample ids = SampleIds(store, shards, directory.sharding);
  if (ids.numbers.empty() && ids.failure) {
    if (ids.failure->code == ErrorCode::kPermissionDenied) return std::nullopt;
    return tl::unexpected<Error>(*ids.failure);
  }
  return !AllInGrid(*standard, ids.numbers) && AllInGrid(*legacy, ids.numbers)
             ? MortonRule::kLegacy
             : MortonRule::kStandard;
}

std::shared_ptr<const ChunkLocator> MakeDetectedLocator(MortonLocators locators,
                                                        std::shared_ptr<ObjectStore> store,
                                                        std::shared_ptr<ShardSet> shards,
                                                        const ShardedDirectory& directory) {
  return std::make_shared<DetectedLocator>(std::move(locators), std::move(store), std::move(shards),
                                           directory);
}

bool MortonRulesDiffer(const ShardedDirectory& directory) {
  const auto standard = CompressedMorton::Make(directory.grid_shape, MortonRule::kStandard);
  const auto legacy = CompressedMorton::Make(directory.grid_shape, MortonRule::kLegacy);
  return standard && legacy && standard->total_bits() != legacy->total_bits();
}

}  // namespace unshard
