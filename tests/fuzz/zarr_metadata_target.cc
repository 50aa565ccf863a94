// Arbitrary bytes as a zarr.json: what is accepted is unsharded once it is shown, and stays as it
// is when it is read again.
#include "codec/zarr3/document.h"

#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

void FollowLastCell(const ZarrShardedArray& array) {
  if (array.grid.cell_count() == 0) return;
  GridCell cell;
  for (const std::uint64_t extent : array.grid.grid_shape()) cell.push_back(extent - 1);
  const ShardSlot slot = array.locator->Locate(cell);
  GridCell back(cell.size());
  Require(array.locator->CellAt(slot, back) && back == cell, "slots lead back to cells");
  const std::string key = array.keys->Key(slot.shard);
  Require(array.keys->Parse(key) == slot.shard, "shard keys lead back to shards");
}

}  // namespace

void FuzzZarrMetadata(ByteSpan input) {
  const auto node = ParseZarrMetadata(AsText(input));
  if (!node) {
    Require(!node.error().message.empty(), "refusals say why");
    return;
  }
  if (node->sharded) FollowLastCell(*node->sharded);
  const auto shown = ParseZarrMetadata(node->unsharded_text);
  Require(shown.has_value(), "what is shown is metadata");
  Require(!shown->sharded, "what is shown is not sharded");
  Require(shown->unsharded_text == node->unsharded_text, "what is shown needs no change");
}

}  // namespace unshard
