#include "store/copy/chunk_maker.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "codec/pyramid/chunk_files.h"
#include "store/copy/try_each.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

// Chunks that are made at a time, however small.
constexpr std::size_t kMostInBatch = 4096;

}  // namespace

ChunkMaker::ChunkMaker(std::shared_ptr<const ChunkMapping> mapping,
                       std::shared_ptr<const ChunkSource> source, StoredArray to,
                       std::shared_ptr<ByteBudgetCache> decoded, const CopyLimits& limits)
    : mapping_(std::move(mapping)),
      source_(std::move(source)),
      to_(std::move(to)),
      decoded_(std::move(decoded)),
      limits_(limits),
      from_voxel_bytes_(
          VoxelBytes(mapping_->from().data_type, mapping_->from().chunk_shape).value_or(0)),
      to_voxel_bytes_(
          VoxelBytes(mapping_->to().data_type, mapping_->to().chunk_shape).value_or(0)) {}

std::optional<GridCell> ChunkMaker::CellOf(const ShardSlot& slot) const {
  const auto file = to_.tree->FileOf({slot, ChunkPart::kPlain});
  if (!file) return std::nullopt;
  return CellOfFile(to_.array.dialect, file->cell);
}

Result<ChunkPlan> ChunkMaker::Plan(std::span<const ShardSlot> slots) const {
  ChunkPlan plan;
  std::vector<GridCell> cells;  // of the source, each once
  std::unordered_map<std::uint64_t, std::size_t> numbers;
  const auto& from_shape = mapping_->from_grid().grid_shape();
  for (const ShardSlot& slot : slots) {
    auto cell = CellOf(slot);
    if (!cell) continue;
    ChunkPlan::Made made{slot, *std::move(cell), {}, false};
    for (GridCell& from : mapping_->SourceCells(made.cell)) {
      const auto [at, is_new] = numbers.emplace(LinearIndex(from_shape, from), cells.size());
      if (is_new) cells.push_back(std::move(from));
      made.sources.push_back(at->second);
    }
    plan.made.push_back(std::move(made));
  }
  UNSHARD_ASSIGN_OR_RETURN(auto found, source_->Find(cells));
  std::vector<std::optional<std::size_t>> kept(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    kept[i] = plan.chunks.size();
    plan.chunks.push_back(*std::move(found[i]));
  }
  for (ChunkPlan::Made& made : plan.made) {
    std::vector<std::size_t> sources;
    for (const std::size_t number : made.sources) {
      if (kept[number]) sources.push_back(*kept[number]);
    }
    made.partial = sources.size() < made.sources.size();
    made.sources = std::move(sources);
  }
  if (!mapping_->writes_absent()) {
    std::erase_if(plan.made, [](const ChunkPlan::Made& made) { return made.sources.empty(); });
  }
  return plan;
}

bool ChunkMaker::CopiesEntries() const {
  // There is one encoding of entries beside the plain one.
  return source_->stored_is_plain() == to_.tree->shards().format().stored_is_plain();
}

std::optional<std::uint64_t> ChunkMaker::SizeOf(const ChunkPlan& plan, std::size_t made) const {
  const auto& sources = plan.made[made].sources;
  if (sources.empty() || !CopiesEntries()) return std::nullopt;
  const std::uint64_t stored = plan.chunks[sources.front()].range.size;
  if (mapping_->form() == BlockForm::kCopy) return stored;
  if (mapping_->form() != BlockForm::kAddHeader || !source_->stored_is_plain()) return std::nullopt;
  return stored + mapping_->HeaderOf(plan.made[made].cell).size();
}

timespec ChunkMaker::ModifiedOf(const ChunkPlan& plan, std::size_t made) {
  timespec latest{};
  for (const std::size_t source : plan.made[made].sources) {
    const timespec& modified = plan.chunks[source].generation->modified;
    if (IsLater(modified, latest)) latest = modified;
  }
  return latest;
}

std::size_t ChunkMaker::BatchAt(const ChunkPlan& plan, std::size_t first) const {
  const BlockForm form = mapping_->form();
  const bool decodes = form == BlockForm::kTranscode || form == BlockForm::kRepack;
  std::uint64_t bytes = 0;
  std::size_t at = first;
  for (; at < plan.made.size() && at - first < kMostInBatch; ++at) {
    std::uint64_t size = decodes ? to_voxel_bytes_ : 0;
    for (const std::size_t source : plan.made[at].sources) {
      // Chunks of another grid are decoded a few at a time, whatever the batch needs.
      if (mapping_->same_grid()) size += plan.chunks[source].range.size;
    }
    if (at > first && bytes + size > limits_.batch_bytes) break;
    bytes += size;
  }
  return at - first;
}

Result<std::vector<std::optional<Bytes>>> ChunkMaker::Make(const ChunkPlan& plan, std::size_t first,
                                                           std::size_t count) const {
  const Batch batch{plan, first, count};
  MadeChunks made(count);
  std::vector<std::size_t> of_bytes, decoded;
  for (std::size_t i = 0; i < count; ++i) {
    const bool transcoded =
        mapping_->form() == BlockForm::kTranscode || batch.at(i).sources.empty();
    (transcoded ? decoded : of_bytes).push_back(i);
  }
  UNSHARD_RETURN_IF_ERROR(MakeFromBytes(batch, of_bytes, decoded, made));
  UNSHARD_RETURN_IF_ERROR(Transcode(batch, decoded, made));
  return made;
}

// The encoding of chunks of `to` in its shards.
Result<Bytes> ChunkMaker::StoredForm(ByteVector plain) const {
  return to_.tree->shards().format().EncodeEntry(Bytes(std::move(plain)));
}

// Nothing where the chunk has to be transcoded.
Result<std::optional<Bytes>> ChunkMaker::FromBytes(const ChunkPlan::Made& made,
                                                   const ChunkSource::Chunk& chunk,
                                                   const Bytes& stored) const {
  UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, source_->Plain(chunk.cell, stored));
  if (Status readable = mapping_->Check(plain.span(), chunk.cell); !readable) {
    return source_->In(chunk.cell, std::move(readable).error());
  }
  if (mapping_->form() == BlockForm::kCopy) {
    if (CopiesEntries()) return stored;
    UNSHARD_ASSIGN_OR_RETURN(Bytes encoded, to_.tree->shards().format().EncodeEntry(plain));
    return encoded;
  }
  auto changed = mapping_->FromBytes(plain.span(), made.cell);
  if (!changed) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(Bytes encoded, StoredForm(*std::move(changed)));
  return encoded;
}

// `rest` receives those that have to be transcoded.
Status ChunkMaker::MakeFromBytes(const Batch& batch, const std::vector<std::size_t>& which,
                                 std::vector<std::size_t>& rest, MadeChunks& made) const {
  if (which.empty()) return {};
  std::vector<ChunkSource::Chunk> chunks;
  for (const std::size_t i : which) {
    chunks.push_back(batch.plan.chunks[batch.at(i).sources.front()]);
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Bytes> stored, source_->Read(chunks));
  UNSHARD_RETURN_IF_ERROR(
      TryEachInParallel(which.size(), limits_.coding_threads, [&](std::size_t i) -> Status {
        UNSHARD_ASSIGN_OR_RETURN(made[which[i]],
                                 FromBytes(batch.at(which[i]), chunks[i], stored[i]));
        return {};
      }));
  for (const std::size_t i : which) {
    if (!made[i]) rest.push_back(i);
  }
  return {};
}

CacheKey ChunkMaker::KeyOf(const GridCell& from_cell) const {
  return {cache_owner_, LinearIndex(mapping_->from_grid().grid_shape(), from_cell), 0, 0};
}

// Null where it is not kept.
ChunkMaker::VoxelsPtr ChunkMaker::Kept(const GridCell& from_cell) const {
  if (mapping_->same_grid()) return nullptr;
  return std::static_pointer_cast<const Voxels>(decoded_->Peek(KeyOf(from_cell)));
}

Result<ChunkMaker::VoxelsPtr> ChunkMaker::Decoded(const GridCell& from_cell, Bytes stored) const {
  UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, source_->Plain(from_cell, std::move(stored)));
  auto decoded = mapping_->Decode(plain.span(), from_cell);
  if (!decoded) return source_->In(from_cell, std::move(decoded).error());
  const auto voxels = std::make_shared<const Voxels>(*std::move(decoded));
  if (!mapping_->same_grid()) decoded_->Put(KeyOf(from_cell), {voxels, voxels->bytes().size()});
  return voxels;
}

// Chunks that are put together from decoded ones.
struct ChunkMaker::Targets {
  const Batch& batch;
  const std::vector<std::size_t>& which;  // of the batch
  std::vector<Voxels> voxels;
  std::vector<std::size_t> sources;                                 // in the plan, each once
  std::unordered_map<std::size_t, std::vector<std::size_t>> users;  // of each source
  [[nodiscard]] const GridCell& cell(std::size_t target) const {
    return batch.at(which[target]).cell;
  }
};

Status ChunkMaker::Transcode(const Batch& batch, const std::vector<std::size_t>& which,
                             MadeChunks& made) const {
  Targets targets{batch, which, {}, {}, {}};
  for (std::size_t i = 0; i < which.size(); ++i) {
    UNSHARD_ASSIGN_OR_RETURN(Voxels blank, mapping_->Blank(targets.cell(i)));
    targets.voxels.push_back(std::move(blank));
    for (const std::size_t source : batch.at(which[i]).sources) {
      auto& users = targets.users[source];
      if (users.empty()) targets.sources.push_back(source);
      users.push_back(i);
    }
  }
  const std::size_t at_once =
      std::max<std::size_t>(limits_.batch_bytes / std::max<std::uint64_t>(from_voxel_bytes_, 1), 1);
  for (std::size_t begin = 0; begin < targets.sources.size(); begin += at_once) {
    const std::size_t count = std::min(at_once, targets.sources.size() - begin);
    UNSHARD_RETURN_IF_ERROR(Paste(targets, std::span(targets.sources).subspan(begin, count)));
  }
  return TryEachInParallel(which.size(), limits_.coding_threads, [&](std::size_t i) -> Status {
    if (mapping_->IsFill(targets.voxels[i])) return {};
    auto encoded = mapping_->to().codec->Encode(std::move(targets.voxels[i]));
    if (!encoded) {
      return Forward(std::move(encoded).error(), to_.path + ": chunk of the destination");
    }
    UNSHARD_ASSIGN_OR_RETURN(made[which[i]], StoredForm(*std::move(encoded)));
    return {};
  });
}

// Each of these chunks of the source is decoded once, and put into all targets that it is in.
Status ChunkMaker::Paste(Targets& targets, std::span<const std::size_t> sources) const {
  const auto& chunks = targets.batch.plan.chunks;
  std::vector<VoxelsPtr> voxels;
  std::vector<ChunkSource::Chunk> missing;
  std::vector<std::size_t> place(sources.size());  // in `missing`
  for (std::size_t i = 0; i < sources.size(); ++i) {
    voxels.push_back(Kept(chunks[sources[i]].cell));
    place[i] = missing.size();
    if (!voxels[i]) missing.push_back(chunks[sources[i]]);
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Bytes> stored, source_->Read(missing));
  return TryEachInParallel(sources.size(), limits_.coding_threads, [&](std::size_t i) -> Status {
    const GridCell& cell = chunks[sources[i]].cell;
    if (!voxels[i]) {
      UNSHARD_ASSIGN_OR_RETURN(voxels[i], Decoded(cell, stored[place[i]]));
    }
    for (const std::size_t target : targets.users.at(sources[i])) {
      mapping_->Paste(*voxels[i], cell, targets.voxels[target], targets.cell(target));
    }
    voxels[i] = nullptr;
    return {};
  });
}

}  // namespace unshard
