#include "store/chunks/presented_chunks.h"

#include <algorithm>
#include <utility>

#include "codec/pyramid/chunk_files.h"
#include "store/object/key.h"

namespace unshard {

std::optional<GridCell> PresentedChunks::CellOf(const ChunkRef& chunk) const {
  const auto file = stored_tree()->FileOf(chunk);
  if (!file) return std::nullopt;
  const Dialect dialect = mapping().from().dialect;
  return mapping().TargetCell(CellOfFile(dialect, file->cell));
}

ChunkRef PresentedChunks::RefOf(const GridCell& cell) const {
  const Dialect dialect = mapping().from().dialect;
  return stored_tree()->RefOf(ChunkFile{FileCellOf(dialect, mapping().FirstSourceCell(cell))});
}

std::vector<ChunkRef> PresentedChunks::StoredChunks(const ChunkRef& chunk) const {
  const auto cell = !mapping().same_grid() ? CellOf(chunk) : std::nullopt;
  if (!cell) return {chunk};
  const Dialect dialect = mapping().from().dialect;
  std::vector<ChunkRef> chunks;
  for (const GridCell& one : mapping().SourceCells(*cell)) {
    chunks.push_back(stored_tree()->RefOf(ChunkFile{FileCellOf(dialect, one)}).With(chunk.part));
  }
  return chunks;
}

Result<GridCell> PresentedChunks::CellIn(const ChunkRef& chunk) const {
  if (auto cell = CellOf(chunk)) return *std::move(cell);
  return Fail(ErrorCode::kInternal, stored_tree()->directory(), ": expected a chunk of the grid");
}

tl::unexpected<Error> PresentedChunks::InChunk(Error error, const ChunkRef& chunk) const {
  return Forward(std::move(error),
                 JoinPath(stored_tree()->directory(), stored_tree()->Path(chunk)));
}

Status PresentedChunks::FitsInMemory() const {
  if (mapping().voxel_bytes() <= max_chunk_bytes()) return {};
  return TooLargeToDecode(stored_tree()->directory() + ": a chunk", mapping().voxel_bytes());
}

Result<Bytes> PresentedChunks::Cached(const GridCell& cell, std::uint64_t version,
                                      std::uint64_t kind,
                                      const std::function<Result<Bytes>()>& encode) const {
  const CacheKey key{cache_owner_, LinearIndex(mapping().to_grid().grid_shape(), cell), version,
                     kind};
  const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
    UNSHARD_ASSIGN_OR_RETURN(Bytes encoded, encode());
    const std::uint64_t size = encoded.size() + sizeof(Bytes);
    return ByteBudgetCache::Loaded{std::make_shared<const Bytes>(std::move(encoded)), size};
  };
  // The stored bytes, the voxels, and what is made of them: about as many each, at most.
  const std::uint64_t needs = 3 * std::min(mapping().voxel_bytes(), max_chunk_bytes());
  UNSHARD_ASSIGN_OR_RETURN(const auto value, parts_.cache->Get(key, CallerDeadline(), load, needs));
  return *std::static_pointer_cast<const Bytes>(value);
}

Result<std::vector<ByteVector>> PresentedChunks::Restore(const ChunkRef& chunk,
                                                         ByteSpan presented) const {
  UNSHARD_RETURN_IF_ERROR(FitsInMemory());
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  return mapping().Restore(presented, cell);
}

Result<std::vector<ByteVector>> PresentedChunks::RestoreRemoved(const ChunkRef& chunk) const {
  UNSHARD_RETURN_IF_ERROR(FitsInMemory());
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  return mapping().RestoreRemoved(cell);
}

Status PresentedChunks::ForEachPresent(const ChunkGeneration& generation,
                                       const ChunkVisitor& visitor) {
  return source().ForEachPresent(generation, visitor);
}

ChunkChanges PresentedChunks::Invalidate(const std::string& key) {
  return source().Invalidate(key);
}

FilePiece ClipBytes(const Bytes& bytes, std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t begin = std::min<std::uint64_t>(offset, bytes.size());
  return bytes.Slice(begin, std::min<std::uint64_t>(size, bytes.size() - begin));
}

}  // namespace unshard
