#include "store/copy/copy_check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/text.h"
#include "codec/pyramid/passed_chunks.h"
#include "store/copy/try_each.h"

namespace unshard {
namespace {

std::string FirstDifference(ByteSpan a, ByteSpan b) {
  const auto at = std::ranges::mismatch(a, b);
  return "byte " + std::to_string(at.in1 - a.begin()) + " of the chunk";
}

// "voxel [0, 3, 17] of the chunk": the first one in which the two differ.
std::string FirstDifference(const Voxels& a, const Voxels& b) {
  const auto at = std::mismatch(a.bytes().begin(), a.bytes().end(), b.bytes().begin());
  std::uint64_t number = static_cast<std::uint64_t>(at.first - a.bytes().begin()) / a.type().size;
  Shape position(a.shape().size());
  for (std::size_t axis = position.size(); axis-- > 0;) {
    position[axis] = number % a.shape()[axis];
    number /= a.shape()[axis];
  }
  return "voxel " + ShapeText(position) + " of the chunk";
}

}  // namespace

Status CopyCheck::Run(const CopyTask& task) const {
  UNSHARD_ASSIGN_OR_RETURN(ChunkPlan plan, maker_->Plan(task.slots));
  std::vector<GridCell> cells;
  std::vector<ChunkPlan::Made> all;  // also those that the source lacks
  auto planned = plan.made.begin();
  for (const ShardSlot& slot : task.slots) {
    auto cell = maker_->CellOf(slot);
    if (!cell) continue;
    cells.push_back(*cell);
    const bool is_planned = planned != plan.made.end() && planned->slot == slot;
    all.push_back(is_planned ? std::move(*planned++) : ChunkPlan::Made{slot, *std::move(cell), {}});
  }
  UNSHARD_ASSIGN_OR_RETURN(auto found, written_->Find(cells));
  plan.made.clear();
  std::vector<Stored> stored;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].sources.empty() && !found[i] && !maker_->mapping().writes_absent()) continue;
    plan.made.push_back(std::move(all[i]));
    stored.push_back(std::move(found[i]));
  }
  for (std::size_t at = 0; at < plan.made.size();) {
    const std::size_t count = maker_->BatchAt(plan, at);
    UNSHARD_RETURN_IF_ERROR(CompareBatch(plan, at, count, stored));
    at += count;
  }
  return {};
}

Status CopyCheck::CompareBatch(const ChunkPlan& plan, std::size_t first, std::size_t count,
                               const std::vector<Stored>& stored) const {
  std::vector<ChunkSource::Chunk> there;
  for (std::size_t i = first; i < first + count; ++i) {
    if (stored[i]) there.push_back(*stored[i]);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto made, maker_->Make(plan, first, count));
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Bytes> bytes, written_->Read(there));
  std::vector<std::optional<Bytes>> found(count);
  for (std::size_t i = 0, next = 0; i < count; ++i) {
    if (stored[first + i]) found[i] = bytes[next++];
  }
  UNSHARD_RETURN_IF_ERROR(
      TryEachInParallel(count, maker_->limits().coding_threads, [&](std::size_t i) -> Status {
        return Compare(plan.made[first + i].cell, made[i], found[i]);
      }));
  counters_->chunks += there.size();
  for (const Bytes& each : bytes) counters_->bytes += each.size();
  return {};
}

Status CopyCheck::Compare(const GridCell& cell, const std::optional<Bytes>& made,
                          const std::optional<Bytes>& stored) const {
  if (!made && !stored) return {};
  if (made && stored && std::ranges::equal(made->span(), stored->span())) return {};
  const auto differs = [&](const std::string& how) {
    return written_->In(cell, {ErrorCode::kDataLoss, "differs from the source: " + how, 0});
  };
  const bool decodes = !OnlyPasses(maker_->mapping().from());
  if (!decodes && made && stored) {
    return differs(FirstDifference(made->span(), stored->span()) + Remedy());
  }
  std::optional<Voxels> wanted, there;
  if (made && decodes) {
    UNSHARD_ASSIGN_OR_RETURN(wanted, VoxelsOf(cell, *made));
  }
  if (stored && decodes) {
    auto decoded = VoxelsOf(cell, *stored);
    if (!decoded) {
      decoded.error().message += Remedy();
      return tl::unexpected<Error>(std::move(decoded).error());
    }
    there = *std::move(decoded);
  }
  if (wanted && there) {
    if (*wanted == *there) return {};
    return differs(FirstDifference(*wanted, *there) + Remedy());
  }
  if (decodes && maker_->mapping().IsFill(wanted ? *wanted : *there)) return {};
  return differs(made ? "it is absent; `unshard copy` adds it"
                      : "the source has no such chunk; `unshard copy --delete` removes it");
}

// A copy alone may keep a chunk that has the right size.
std::string CopyCheck::Remedy() const {
  return written_->stored().sharded ? "; remove this shard, and copy again"
                                    : "; remove this file, and copy again";
}

Result<Voxels> CopyCheck::VoxelsOf(const GridCell& cell, const Bytes& stored) const {
  UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, written_->Plain(cell, stored));
  auto voxels = maker_->mapping().DecodeTarget(plain.span(), cell);
  if (!voxels) return written_->In(cell, std::move(voxels).error());
  return voxels;
}

}  // namespace unshard
