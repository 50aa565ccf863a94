#include "store/volume_file/decoded_chunks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/pyramid/chunk_files.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// Writers and publishes may replace a chunk while it is read, each time.
constexpr int kTries = 8;

// What CacheKey::page tells apart.
enum CachedVersion : std::uint64_t { kStored, kCommitted, kVersions };

// A whole chunk is kept briefly where it is cut. What else is in the cache, and reads at the same
// time that are not quite in the order of the file, have an eighth.
constexpr std::uint64_t kOtherShare = 8;

std::uint64_t CostOf(const ByteVector& voxels) { return voxels.size() + sizeof(voxels); }

CacheKey KeyOfSection(const CacheKey& chunk, std::uint64_t number,
                      const DecodedChunks::Sections& sections) {
  CacheKey key = chunk;
  key.owner = sections.cache_owner;
  key.page = chunk.page + kVersions * number;
  return key;
}

// Stored bytes are asked for at once: the reader of a shard keeps what is read in parts.
Result<Bytes> ReadWhole(ChunkContent& content, std::uint64_t max_bytes) {
  if (content.size() <= max_bytes) {
    UNSHARD_ASSIGN_OR_RETURN(FilePiece piece, content.Read(0, content.size()));
    UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, InMemory(std::move(piece)));
    if (bytes.size() == content.size()) return bytes;
  }
  return ReadAll(content, max_bytes);
}

}  // namespace

Result<std::shared_ptr<DecodedChunks>> DecodedChunks::Make(Parts parts) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid grid, GridOf(parts.array));
  return std::shared_ptr<DecodedChunks>(new DecodedChunks(std::move(parts), std::move(grid)));
}

DecodedChunks::DecodedChunks(Parts parts, ChunkGrid grid)
    : parts_(std::move(parts)),
      grid_(std::move(grid)),
      current_(parts_.written),
      clips_(ClipsChunks(parts_.array.dialect)),
      chunk_bytes_(std::min(parts_.max_chunk_bytes,
                            VoxelBytes(parts_.array.data_type, parts_.array.chunk_shape)
                                .value_or(parts_.max_chunk_bytes))) {}

std::uint64_t DecodedChunks::ExtentOf(std::uint64_t cell, std::size_t axis) const {
  const GridAxis& cells = grid_.axis(axis);
  return clips_ ? cells.End(cell) - cells.Begin(cell) : cells.CellExtent(cell);
}

std::vector<std::uint64_t> DecodedChunks::ShapeOf(const GridCell& cell) const {
  std::vector<std::uint64_t> shape;
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    shape.push_back(ExtentOf(cell[axis], axis));
  }
  return shape;
}

DecodedChunks::Sections DecodedChunks::SectionsFor(std::span<const std::size_t> order) const {
  const std::uint64_t cache = parts_.cache->max_bytes();
  const std::uint64_t brief = std::max(cache / ByteBudgetCache::kBriefShare, chunk_bytes_);
  SectionLimits limits;
  limits.chunks = cache;
  limits.sections = cache - std::min(cache, brief + cache / kOtherShare);
  limits.each = ByteBudgetCache::kEntryOverhead + sizeof(ByteVector);
  const VolumeGrid grid{grid_.shape(), grid_.chunk_shape(), parts_.array.data_type.size};
  return {ChunkSections(grid, order, clips_, limits)};
}

ChunkRef DecodedChunks::RefOf(const GridCell& cell) const {
  return parts_.tree->RefOf(ChunkFile{FileCellOf(parts_.array.dialect, cell)});
}

Result<DecodedChunks::Pieces> DecodedChunks::Get(const Wanted& wanted, const Sections& sections) {
  const ChunkRef chunk = RefOf(wanted.cell);
  for (int i = 1;; ++i) {
    auto found = GetOnce(chunk, wanted, sections);
    if (found) return found;
    if (found.error().code == ErrorCode::kConflict && i < kTries) continue;
    const std::string name = JoinPath(parts_.tree->directory(), parts_.tree->Path(chunk));
    return Forward(std::move(found).error(), name);
  }
}

CacheKey DecodedChunks::KeyOf(const GridCell& cell, const ShardGenerationPtr& shard) const {
  return {cache_owner_, LinearIndex(grid_.grid_shape(), cell), shard ? shard->serial : 0, kStored};
}

bool DecodedChunks::IsCached(const CacheKey& chunk, const Wanted& wanted,
                             const Sections& sections) const {
  if (parts_.cache->Peek(chunk)) return true;
  if (!sections.cut.cut()) return false;
  return std::all_of(wanted.sections.begin(), wanted.sections.end(), [&](std::uint64_t number) {
    return parts_.cache->Peek(KeyOfSection(chunk, number, sections)) != nullptr;
  });
}

void DecodedChunks::Prefetch(const std::vector<Wanted>& wanted, const Sections& sections) {
  const bool decoded_whole = parts_.tree->shards().format().has_outer_codecs();
  if (!parts_.prefetches || decoded_whole || wanted.size() < 2) return;
  ChunkStore& store = parts_.tree->chunks();
  std::uint64_t bytes = 0;
  for (const Wanted& one : wanted) {
    const ChunkRef chunk = RefOf(one.cell);
    // What fails here, fails again where it is read.
    const auto generation = store.Current(chunk, CallerDeadline());
    if (!generation) return;
    const ShardGenerationPtr shard = ShardGenerationOf(*generation);
    if (!shard || !shard->object || IsCached(KeyOf(one.cell, shard), one, sections)) continue;
    const auto location = store.Locate(chunk, *generation);
    if (!location) return;
    if (!*location) continue;
    bytes += (*location)->stored.size;
    if (bytes > parts_.max_chunk_bytes) return;
    shard->object->Prefetch((*location)->stored);
  }
}

Result<DecodedChunks::Pieces> DecodedChunks::GetOnce(const ChunkRef& chunk, const Wanted& wanted,
                                                     const Sections& sections) {
  ChunkTree& tree = *parts_.tree;
  const GridCell& cell = wanted.cell;
  CacheKey key;
  ByteBudgetCache::Loader load;
  const WrittenVersionPtr written =
      parts_.written ? parts_.written->Find(ChunkId::Of(tree, chunk)) : nullptr;
  if (written) {
    key = KeyOf(cell, nullptr);
    key.count = written->number;
    key.page = kCommitted;
    load = [&]() -> Result<ByteBudgetCache::Loaded> {
      if (written->removed) return Decode(nullptr, cell);
      UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content, current_.ContentOf(written));
      return Decode(content, cell);
    };
  } else {
    UNSHARD_ASSIGN_OR_RETURN(const ChunkGeneration generation,
                             tree.chunks().Current(chunk, CallerDeadline()));
    key = KeyOf(cell, ShardGenerationOf(generation));
    load = [this, &tree, &chunk, &cell, generation]() -> Result<ByteBudgetCache::Loaded> {
      UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree.chunks().LatestIn(chunk, generation));
      return Decode(facts ? MakeStoredContent(parts_.tree, chunk, *facts) : nullptr, cell);
    };
  }
  return Take(key, wanted, sections, load);
}

Result<DecodedChunks::Pieces> DecodedChunks::Take(const CacheKey& chunk, const Wanted& wanted,
                                                  const Sections& sections,
                                                  const ByteBudgetCache::Loader& load) {
  const bool cut = sections.cut.cut();
  std::shared_ptr<const ByteVector> whole;
  const auto load_whole = [&]() -> Result<ByteBudgetCache::Loaded> {
    UNSHARD_ASSIGN_OR_RETURN(auto loaded, load());
    loaded.brief = cut;
    return loaded;
  };
  Pieces pieces;
  for (const std::uint64_t number : wanted.sections) {
    const CacheKey key = cut ? KeyOfSection(chunk, number, sections) : chunk;
    if (auto kept = cut ? parts_.cache->Peek(key) : nullptr) {
      pieces.push_back(std::static_pointer_cast<const ByteVector>(std::move(kept)));
      continue;
    }
    if (!whole) {
      // Beside the voxels there are the stored bytes.
      UNSHARD_ASSIGN_OR_RETURN(const auto value, parts_.cache->Get(chunk, CallerDeadline(),
                                                                   load_whole, 2 * chunk_bytes_));
      whole = std::static_pointer_cast<const ByteVector>(value);
    }
    if (!cut) {
      pieces.push_back(whole);
      continue;
    }
    auto section = std::make_shared<ByteVector>();
    if (!whole->empty()) {
      *section = CutSection(sections.cut, number, ShapeOf(wanted.cell), parts_.array.data_type.size,
                            *whole);
    }
    pieces.push_back(section);
    parts_.cache->Put(key, {section, CostOf(*section)});
  }
  return pieces;
}

Result<ByteBudgetCache::Loaded> DecodedChunks::Decode(const ContentPtr& content,
                                                      const GridCell& cell) {
  auto voxels = std::make_shared<ByteVector>();
  if (content) {
    const std::vector<std::uint64_t> shape = ShapeOf(cell);
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(parts_.array.data_type, shape));
    if (size > parts_.max_chunk_bytes || content->size() > parts_.max_chunk_bytes) {
      return TooLargeToDecode("a chunk", std::max(size, content->size()));
    }
    UNSHARD_ASSIGN_OR_RETURN(const Bytes stored, ReadWhole(*content, parts_.max_chunk_bytes));
    UNSHARD_ASSIGN_OR_RETURN(Voxels decoded, parts_.array.codec->Decode(stored.span(), shape));
    *voxels = std::move(decoded).TakeBytes();
    parts_.decoded->fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint64_t bytes = CostOf(*voxels);
  return ByteBudgetCache::Loaded{std::move(voxels), bytes};
}

}  // namespace unshard
