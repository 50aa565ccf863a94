// The chunks of another store in another encoding, as a ChunkStore.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codec/pyramid/chunk_conversion.h"
#include "store/chunks/chunk_content.h"
#include "store/chunks/chunk_store.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/index_cache.h"

namespace unshard {

// References, generations and what they cost are those of the stored tree. Chunks that are copied
// are read as they are stored, also as slices of files; others are encoded whole, once, and kept in
// a cache. Thread-safe.
class TranscodedChunks final : public ChunkStore {
 public:
  // `max_chunk_bytes`: of the voxels of one chunk.
  TranscodedChunks(std::shared_ptr<ShardedTree> stored,
                   std::shared_ptr<const ChunkConversion> conversion,
                   std::shared_ptr<ByteBudgetCache> cache, std::uint64_t max_chunk_bytes);

  // The cell, of the presented grid, of a reference.
  [[nodiscard]] std::optional<GridCell> CellOf(const ChunkRef& chunk) const;
  [[nodiscard]] ChunkRef RefOf(const GridCell& cell) const;

  // Writing. What the view presents for a committed version of a chunk, whose stored bytes are
  // `stored`; null where there are none. `version`: WrittenVersion::number. Null where the chunk is
  // absent.
  Result<ContentPtr> PresentWritten(const ChunkRef& chunk, const ContentPtr& stored,
                                    std::uint64_t version);
  // The size of that for `stored` bytes, where it does not depend on what they are.
  [[nodiscard]] std::optional<std::uint64_t> SizeOfWritten(const ChunkRef& chunk,
                                                           std::uint64_t stored) const;
  // The stored bytes of a chunk that a program wrote into the view, or removed from it.
  // kInvalidArgument where `shown` is no such chunk.
  [[nodiscard]] Result<ByteVector> Restore(const ChunkRef& chunk, ByteSpan shown) const;
  [[nodiscard]] Result<ByteVector> RestoreRemoved(const ChunkRef& chunk) const;

  Result<ChunkGeneration> Current(const ChunkRef& chunk, const Deadline& deadline) override;
  std::optional<ChunkGeneration> Find(const ChunkRef& chunk, std::uint32_t number) override;
  void AddReference(const ChunkGeneration& generation) override;
  void DropReferences(const ChunkRef& chunk, std::uint32_t number,
                      std::uint64_t references) override;
  Result<std::optional<ChunkFacts>> Latest(const ChunkRef& chunk) override;
  Result<std::optional<ChunkFacts>> LatestIn(const ChunkRef& chunk,
                                             const ChunkGeneration& generation) override;
  [[nodiscard]] bool SizeIsFree(const ChunkRef& chunk) const override;
  Result<std::optional<ChunkLocation>> Locate(const ChunkRef& chunk,
                                              const ChunkGeneration& generation) override;
  std::optional<ObjectRange> NextRead(const ChunkFacts& facts) override;
  Result<FilePiece> Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                         std::uint64_t offset, std::uint64_t size) override;
  Result<FilePiece> ReadFound(const ChunkRef& chunk, const ChunkFacts& facts, std::uint64_t offset,
                              std::uint64_t size) override;
  Status Load(const ChunkRef& chunk, const ChunkFacts& facts) override;
  Status ForEachPresent(const ChunkGeneration& generation, const ChunkVisitor& visitor) override;
  ChunkChanges Invalidate(const std::string& key) override;
  [[nodiscard]] bool has_forgotten() const override { return source().has_forgotten(); }
  [[nodiscard]] ChunkStoreCounters counters() const override { return source().counters(); }
  [[nodiscard]] std::optional<std::string> ReplacedKey(const ChunkRef& chunk) const override {
    return source().ReplacedKey(chunk);
  }

 private:
  [[nodiscard]] ChunkStore& source() const { return stored_->chunks(); }
  // A stored chunk as one of its generations has it.
  struct Version {
    ChunkRef chunk;
    ChunkGeneration generation;
  };
  // What is known of the stored chunk becomes what is known of the presented one.
  Result<std::optional<ChunkFacts>> Present(const ChunkRef& chunk, std::optional<ChunkFacts> stored,
                                            const ChunkGeneration& generation);
  // Whether the presented bytes are the stored ones without the header that is expected.
  Result<bool> HasPlainHeader(const Version& version, const GridCell& cell);
  Result<Bytes> ReadStored(const Version& version, std::uint64_t offset, std::uint64_t size);
  Result<FilePiece> ReadBehindHeader(const Version& version, const GridCell& cell,
                                     std::uint64_t offset, std::uint64_t size);
  // The presented chunk, encoded; that of the fill value where it is absent.
  Result<Bytes> Encoded(const Version& version, const GridCell& cell);
  Result<Bytes> Encode(const Version& version, const GridCell& cell);
  // The chunk as it is presented, of stored bytes; of the fill value without.
  [[nodiscard]] Result<Bytes> EncodeBytes(const ContentPtr& stored, const GridCell& cell) const;
  [[nodiscard]] Status FitsInMemory() const;
  [[nodiscard]] Result<GridCell> CellIn(const ChunkRef& chunk) const;
  [[nodiscard]] tl::unexpected<Error> InChunk(Error error, const ChunkRef& chunk) const;

  const std::shared_ptr<ShardedTree> stored_;
  const std::shared_ptr<const ChunkConversion> conversion_;
  const std::shared_ptr<ByteBudgetCache> cache_;
  const std::uint64_t max_chunk_bytes_;
  const std::uint64_t cache_owner_ = NewCacheOwner();
};

}  // namespace unshard
