#include "store/dataset/morton_probe.h"

#include <algorithm>
#include <vector>

#include "store/object/parallel.h"

namespace unshard {
namespace {

constexpr std::size_t kShards = 4;
constexpr std::size_t kListedShards = 256;
constexpr std::size_t kProbedShards = 64;
constexpr std::size_t kProbesAtOnce = 16;
constexpr std::uint64_t kPages = 64;
constexpr std::size_t kIds = 4096;

// A few shards that exist, of some that are spread over all that may: as many at a time as are
// asked for together, until there are enough.
std::vector<std::uint64_t> ProbeShards(ShardSet& shards, const ShardingSpec& sharding) {
  const std::uint64_t count = std::uint64_t{1} << std::min(sharding.shard_bits, 62u);
  const std::uint64_t step = std::max<std::uint64_t>(count / kProbedShards, 1);
  const std::size_t probes = std::min<std::uint64_t>(count, kProbedShards);
  const std::size_t rounds = (probes + kProbesAtOnce - 1) / kProbesAtOnce;
  const Deadline deadline = CallerDeadline();
  std::vector<std::uint64_t> numbers;
  for (std::size_t round = 0; round < rounds && numbers.size() < kShards; ++round) {
    std::vector<char> found((probes - round + rounds - 1) / rounds);
    const auto shard = [&](std::size_t i) { return (round + i * rounds) * step; };
    ForEachInParallel(found.size(), kProbesAtOnce, [&](std::size_t i) {
      const auto generation = shards.Current(shard(i), deadline);
      found[i] = generation && (*generation)->object;
    });
    for (std::size_t i = 0; i < found.size() && numbers.size() < kShards; ++i) {
      if (found[i] != 0) numbers.push_back(shard(i));
    }
  }
  return numbers;
}

std::vector<std::uint64_t> SampleShards(ObjectStore& store, ShardSet& shards,
                                        const ShardingSpec& sharding) {
  if (!store.capabilities().lists) return ProbeShards(shards, sharding);
  std::vector<std::uint64_t> numbers;
  const auto listed = store.List(shards.directory(), CallerDeadline(), [&](const ListEntry& entry) {
    if (const auto number = shards.keys().Parse(entry.name)) numbers.push_back(*number);
    return numbers.size() < kListedShards;
  });
  if (!listed || numbers.size() <= kShards) return numbers;
  std::vector<std::uint64_t> spread;
  for (std::size_t i = 0; i < kShards; ++i) spread.push_back(numbers[i * numbers.size() / kShards]);
  return spread;
}

// Of the first pages of the sampled shards, as many at a time as are asked for together.
std::vector<std::uint64_t> SampleIds(ObjectStore& store, ShardSet& shards,
                                     const ShardingSpec& sharding) {
  const std::vector<std::uint64_t> sampled = SampleShards(store, shards, sharding);
  const std::uint64_t page_count = shards.format().page_count();
  const std::uint64_t pages = page_count == 0 ? kPages : std::min(kPages, page_count);
  const Deadline deadline = CallerDeadline();
  std::vector<std::uint64_t> ids;
  for (std::size_t at = 0; at < sampled.size() * pages && ids.size() < kIds; at += kProbesAtOnce) {
    std::vector<std::shared_ptr<const IndexPage>> loaded(
        std::min<std::size_t>(kProbesAtOnce, sampled.size() * pages - at));
    ForEachInParallel(loaded.size(), kProbesAtOnce, [&](std::size_t i) {
      const auto generation = shards.Current(sampled[(at + i) % sampled.size()], deadline);
      if (!generation) return;
      loaded[i] = shards.Page(*generation, (at + i) / sampled.size(), deadline).value_or(nullptr);
    });
    for (const auto& page : loaded) {
      if (!page) continue;
      for (const IndexEntry& entry : page->entries()) {
        if (ids.size() < kIds) ids.push_back(entry.slot);
      }
    }
  }
  return ids;
}

bool AllInGrid(const CompressedMorton& code, const std::vector<std::uint64_t>& ids) {
  std::vector<std::uint64_t> cell(code.grid_shape().size());
  for (const std::uint64_t id : ids) {
    if (!code.Decode(id, cell)) return false;
  }
  return true;
}

}  // namespace

MortonRule DetectMortonRule(ObjectStore& store, ShardSet& shards,
                            const ShardedDirectory& directory) {
  const auto standard = CompressedMorton::Make(directory.grid_shape, MortonRule::kStandard);
  const auto legacy = CompressedMorton::Make(directory.grid_shape, MortonRule::kLegacy);
  if (!standard || !legacy || standard->total_bits() == legacy->total_bits()) {
    return MortonRule::kStandard;
  }
  const std::vector<std::uint64_t> ids = SampleIds(store, shards, directory.sharding);
  return !AllInGrid(*standard, ids) && AllInGrid(*legacy, ids) ? MortonRule::kLegacy
                                                               : MortonRule::kStandard;
}

}  // namespace unshard
