// The chunks of another store in another encoding, as a ChunkStore.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/chunks/presented_chunks.h"

namespace unshard {

// References, generations and what they cost are those of the stored tree. Chunks that are copied
// are read as they are stored, also as slices of files; others are encoded whole, once, and kept in
// a cache. Thread-safe.
class TranscodedChunks final : public PresentedChunks {
 public:
  // Requires: chunks of the same grid.
  explicit TranscodedChunks(Parts parts) : PresentedChunks(std::move(parts)) {}

  // Writing. What the view presents for a committed version of a chunk, whose stored bytes are
  // `stored`; null where there are none. `version`: WrittenVersion::number. Null where the chunk is
  // absent.
  Result<ContentPtr> PresentWritten(const ChunkRef& chunk, const ContentPtr& stored,
                                    std::uint64_t version);
  // The size of that for `stored` bytes, where it does not depend on what they are.
  [[nodiscard]] std::optional<std::uint64_t> SizeOfWritten(const ChunkRef& chunk,
                                                           std::uint64_t stored) const;

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

 private:
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
  Result<Bytes> EncodeAnew(const Version& version, const GridCell& cell);
  // The chunk as it is presented, of stored bytes; of the fill value without.
  [[nodiscard]] Result<Bytes> EncodeBytes(const ContentPtr& stored, const GridCell& cell) const;
};

}  // namespace unshard
