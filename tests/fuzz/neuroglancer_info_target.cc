// Arbitrary bytes as an info: what is accepted is unsharded once it is shown, and its chunk names
// and slots lead back to the cells that they were made of.
#include "codec/precomputed/info.h"

#include "codec/precomputed/access.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

void FollowFirstCell(const ShardedDirectory& directory) {
  const auto access = MakeAccess(directory, MortonRule::kStandard);
  if (!access || !access->locator) return;
  for (const std::uint64_t extent : directory.grid_shape) {
    if (extent == 0) return;
  }
  GridCell cell;
  for (const std::uint64_t extent : directory.grid_shape) cell.push_back(extent - 1);
  const ShardSlot slot = access->locator->Locate(cell);
  GridCell back(cell.size());
  Require(access->locator->CellAt(slot, back) && back == cell, "slots lead back to cells");
  const std::string key = access->keys->Key(slot.shard);
  Require(access->keys->Parse(key) == slot.shard, "shard keys lead back to shards");
}

}  // namespace

void FuzzNeuroglancerInfo(ByteSpan input) {
  const auto info = ParseNeuroglancerInfo(AsText(input));
  if (!info) {
    Require(!info.error().message.empty(), "refusals say why");
    return;
  }
  for (const ShardedDirectory& directory : info->sharded) FollowFirstCell(directory);
  const auto shown = ParseNeuroglancerInfo(info->unsharded_text);
  Require(shown.has_value(), "what is shown is an info");
  Require(shown->sharded.empty(), "what is shown is not sharded");
}

}  // namespace unshard
