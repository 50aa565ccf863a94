#include "store/dataset/morton_probe.h"

#include <vector>

namespace unshard {
namespace {

constexpr std::size_t kShards = 4;
constexpr std::size_t kListedShards = 256;
constexpr std::uint64_t kPages = 64;
constexpr std::size_t kIds = 4096;

std::vector<std::uint64_t> SampleShards(ObjectStore& store, ShardSet& shards) {
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

std::vector<std::uint64_t> SampleIds(ObjectStore& store, ShardSet& shards) {
  std::vector<std::uint64_t> ids;
  for (const std::uint64_t shard : SampleShards(store, shards)) {
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
  const std::vector<std::uint64_t> ids = SampleIds(store, shards);
  return !AllInGrid(*standard, ids) && AllInGrid(*legacy, ids) ? MortonRule::kLegacy
                                                               : MortonRule::kStandard;
}

}  // namespace unshard
