// The chunks of a sharded array: their entries in shards, as a ChunkStore.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/chunks/chunk_reader.h"
#include "store/chunks/chunk_store.h"
#include "store/shard/set.h"

namespace unshard {

class ShardedTree;

// A generation of a shard is one of all its chunks; its number is ShardGeneration::count.
ChunkGeneration GenerationOf(const ShardGenerationPtr& generation);
// The inverse: null where there is none.
ShardGenerationPtr ShardGenerationOf(const ChunkGeneration& generation);

// Thread-safe. Belongs to its tree.
class ShardedChunks final : public ChunkStore {
 public:
  ShardedChunks(ShardedTree& tree, std::shared_ptr<ChunkReader> reader)
      : tree_(tree), reader_(std::move(reader)) {}

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
  Status Load(const ChunkRef& chunk, const ChunkFacts& facts) override;
  Result<FilePiece> ReadFound(const ChunkRef& chunk, const ChunkFacts& facts, std::uint64_t offset,
                              std::uint64_t size) override;
  Status ForEachPresent(const ChunkGeneration& generation, const ChunkVisitor& visitor) override;
  ChunkChanges Invalidate(const std::string& key) override;
  [[nodiscard]] bool has_forgotten() const override;
  [[nodiscard]] ChunkStoreCounters counters() const override;
  [[nodiscard]] bool encodes() const override;
  [[nodiscard]] Result<Bytes> Encode(Bytes plain) const override;
  [[nodiscard]] std::optional<std::string> ReplacedKey(const ChunkRef& chunk) const override;

 private:
  ShardedTree& tree_;
  const std::shared_ptr<ChunkReader> reader_;
};

}  // namespace unshard
