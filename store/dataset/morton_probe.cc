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

// A few shards that exist, of some that are spread over all that may.
std::vector<std::uint64_t> ProbeShards(ShardSet& shards, const ShardingSpec& sharding) {
  const std::uint64_t count = std::uint64_t{1} << std::min(sharding.shard_bits, 62u);
  const std::uint64_t step = std::max<std::uint64_t>(count / kProbedShards, 1);
  const std::size_t probes = std::min<std::uint64_t>(count, kProbedShards);
  std::vector<char> found(probes);
  const Deadline deadline = CallerDeadline();
  ForEachInParallel(probes, kProbesAtOnce, [&](std::size_t i) {
    const auto generation = shards.Current(i * step, deadline);
    found[i] = generation && (*generation)->object;
  });
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < probes && numbers.size() < kShards; ++i) {
    if (found[i] != 0) numbers.push_back(i * step);
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

std::vector<std::uint64_t> SampleIds(ObjectStore& store, ShardSet& shards,
                                     const ShardingSpec& sharding) {
  std::vector<std::uint64_t> ids;
  for (const std::uint64_t shard : SampleShards(store, shards, sharding)) {
    const auto generation = shards.Current(shard, CallerDeadline());
    if (!generation) continue;
    const std::uint64_t page_count = shards.format().page_count();
    for (std::uint64_t page = 0; page < kPages && (page_count == 0 || page < page_count); ++page) {
      const auto index_page = shards.Page(*generation, page, CallerDeadline());
      if (!index_page) break;
      for (const IndexEntry& entry : (*index_page)->entries()) {
        if (ids.size() == kIds) return ids;
        ids.push_back(entry.slot);
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
