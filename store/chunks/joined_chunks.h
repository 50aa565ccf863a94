// Several chunks of another store as one: all channels of an array that is stored with its channels
// in several chunks, in a view whose chunks have all of them. A ChunkStore.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/chunks/current_chunks.h"
#include "store/chunks/joined_generations.h"
#include "store/chunks/presented_chunks.h"

namespace unshard {

// A chunk is there where any of the stored ones is. Its generations are made of a version each,
// stored or committed, so that a chunk of this store has no committed version of its own. Those
// that one commit makes of one chunk are seen together; what other processes write to several
// shards is seen as it comes. Chunks are encoded whole, once, and kept in a cache. Thread-safe.
class JoinedChunks final : public PresentedChunks {
 public:
  // `written`: null where the volume is only read. Requires: chunks of different grids.
  JoinedChunks(Parts parts, std::shared_ptr<CommittedVersions> written)
      : PresentedChunks(std::move(parts)), written_(written), current_(std::move(written)) {}

  Result<ChunkGeneration> Current(const ChunkRef& chunk, const Deadline& deadline) override;
  std::optional<ChunkGeneration> Find(const ChunkRef& chunk, std::uint32_t number) override;
  void AddReference(const ChunkGeneration& generation) override;
  void DropReferences(const ChunkRef& chunk, std::uint32_t number,
                      std::uint64_t references) override;
  Result<std::optional<ChunkFacts>> Latest(const ChunkRef& chunk) override;
  Result<std::optional<ChunkFacts>> LatestIn(const ChunkRef& chunk,
                                             const ChunkGeneration& generation) override;
  [[nodiscard]] bool SizeIsFree(const ChunkRef& chunk) const override;
  // Of the first stored chunk that is there and not committed anew.
  Result<std::optional<ChunkLocation>> Locate(const ChunkRef& chunk,
                                              const ChunkGeneration& generation) override;
  std::optional<ObjectRange> NextRead(const ChunkFacts& facts) override;
  Result<FilePiece> Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                         std::uint64_t offset, std::uint64_t size) override;
  Status Load(const ChunkRef& chunk, const ChunkFacts& facts) override;
  Result<std::optional<Bytes>> Hold(const ChunkRef& chunk, const ChunkFacts& facts) override;

 private:
  // The latest committed versions of stored chunks; null where there is none.
  [[nodiscard]] std::vector<WrittenVersionPtr> VersionsOf(
      const std::vector<ChunkRef>& chunks) const;
  // Whether a stored chunk is there.
  Result<bool> IsPresent(const JoinedVersion::Part& part) const;
  // Its bytes; null where it is absent. kConflict where they are gone.
  Result<ContentPtr> ContentOf(const JoinedVersion::Part& part) const;
  Result<Bytes> Encoded(const ChunkRef& chunk, const ChunkGeneration& generation);
  Result<Bytes> EncodeAnew(const JoinedVersion& version, const GridCell& cell) const;

  const std::shared_ptr<CommittedVersions> written_;
  const CurrentChunks current_;
  JoinedGenerations generations_;
};

}  // namespace unshard
