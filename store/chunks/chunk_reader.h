// From a chunk of a tree to its bytes: sizes, ranges, decoding.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "store/chunks/chunk_store.h"
#include "store/chunks/read_ahead.h"
#include "store/chunks/sweep_reader.h"
#include "store/object/byte_gate.h"
#include "store/object/index_cache.h"
#include "store/shard/set.h"

namespace unshard {

class ShardedTree;

// What reading has cost so far. Thread-safe.
struct ReadCounters {
  std::atomic<std::uint64_t> data_reads{0};  // of the store
  std::atomic<std::uint64_t> chunks_decoded{0};
};

// Thread-safe. Every failure names the shard.
class ChunkReader {
 public:
  // Decoded chunks are kept in `decoded` until they have been read whole; one of them may have at
  // most `max_chunk_bytes`, all that are being read together as well, and all that are being
  // decoded, and so may all that is prefetched from a remote store.
  // `store`: what the store of the trees can do.
  ChunkReader(std::shared_ptr<ByteBudgetCache> decoded, std::uint64_t max_chunk_bytes,
              std::shared_ptr<ReadCounters> counters, const Capabilities& store = {});

  // The entry of a chunk in the current generation of its shard. Nothing where it is empty. A chunk
  // whose entry is damaged is there, with a size of 1, so that it can be replaced and removed:
  // reading it is kDataLoss.
  Result<std::optional<ChunkFacts>> Find(ShardedTree& tree, const ChunkRef& chunk);
  // The same in a given generation. The size is exact; what it costs: nothing where it follows from
  // the metadata or the index, else one read (codec/FORMATS.md, "Sizes").
  Result<std::optional<ChunkFacts>> FindIn(ShardedTree& tree, const ChunkRef& chunk,
                                           const ShardGenerationPtr& generation);
  // Where a chunk is stored in a generation: what FindIn finds out before it asks for the size.
  // kDataLoss if its entry is damaged.
  Result<std::optional<ByteRange>> FindStored(ShardedTree& tree, const ChunkRef& chunk,
                                              const ShardGenerationPtr& generation);
  // Whether a chunk that was looked up is likely to be read: false after many look-ups without a
  // read. Counts one more look-up.
  bool ExpectsRead();
  // Whether Find reads the chunk itself.
  [[nodiscard]] bool reads_whole() const { return reads_whole_; }
  // Reads a chunk that was found into the cache, if Find would; it stays there until it has been
  // read whole. kConflict where its generation is gone.
  Status Load(ShardedTree& tree, const ChunkRef& chunk, const ChunkFacts& facts);
  // Whether FindIn gives the size without I/O once the index page is there.
  static bool SizeIsFree(const ShardedTree& tree, const ChunkRef& chunk);

  // Up to `size` bytes from `offset` of a chunk, fewer only at its end.
  Result<FilePiece> Read(ShardedTree& tree, const ChunkRef& chunk,
                         const ShardGenerationPtr& generation, std::uint64_t offset,
                         std::uint64_t size);
  // The same of a chunk that Find or FindIn found: the entry is not looked up again.
  Result<FilePiece> ReadFound(ShardedTree& tree, const ChunkRef& chunk, const ChunkFacts& facts,
                              std::uint64_t offset, std::uint64_t size);

 private:
  Result<FilePiece> ReadEntry(ShardedTree& tree, const ChunkRef& chunk,
                              const ShardGenerationPtr& generation, const ByteRange& entry,
                              std::uint64_t offset, std::uint64_t size);
  // kDamagedRange for a damaged entry.
  Result<std::optional<ByteRange>> Entry(ShardedTree& tree, const ShardSlot& slot,
                                         const ShardGenerationPtr& generation,
                                         ShardSet::Ahead ahead = ShardSet::Ahead::kNone);
  // The stored range that is the content of the chunk's part as it is; nothing where it has to be
  // decoded.
  Result<std::optional<ByteRange>> VerbatimRange(ShardedTree& tree, const ChunkRef& chunk,
                                                 const ShardGenerationPtr& generation,
                                                 const ByteRange& entry);
  Result<std::uint64_t> PlainSize(ShardedTree& tree, const ShardSlot& slot,
                                  const ShardGenerationPtr& generation, const ByteRange& entry);
  CacheKey KeyOf(const ShardedTree& tree, const ShardSlot& slot,
                 const ShardGenerationPtr& generation) const;
  struct DecodedChunk {
    Bytes plain;
    bool trailer_lies = false;  // the gzip trailer has another size (several members)
  };
  // One attempt of Find(). The following serve stores that do not keep replaced versions: there a
  // read validates the generation, so that a look-up reads the chunk, whole, instead of asking for
  // the shard.
  Result<std::optional<ChunkFacts>> FindNow(ShardedTree& tree, const ChunkRef& chunk);
  Result<std::optional<ChunkFacts>> FindByReading(ShardedTree& tree, const ChunkRef& chunk);
  // Reads a chunk into the cache.
  Status Fetch(ShardedTree& tree, const ChunkRef& chunk, const ShardGenerationPtr& generation,
               const ByteRange& entry);
  // The stored bytes of a chunk.
  Result<Bytes> ReadChunk(const ShardedTree& tree, const ShardSlot& slot,
                          const ShardGenerationPtr& generation, const ByteRange& range);
  [[nodiscard]] bool IsFetchedWhole(const ShardedTree& tree, const ByteRange& range) const;
  // Room in memory for a stored chunk that is being read.
  Result<ByteGate::Pass> RoomToRead(const ShardedTree& tree, std::uint64_t bytes);
  // The bytes of a range, cached as those of a decoded chunk.
  Result<std::shared_ptr<const DecodedChunk>> Fetched(ShardedTree& tree, const ShardSlot& slot,
                                                      const ShardGenerationPtr& generation,
                                                      const ByteRange& range);
  CacheKey KeyOf(const ShardedTree& tree, const ShardGenerationPtr& generation,
                 const ByteRange& range) const;
  [[nodiscard]] std::uint64_t DecodingBytes(const ShardedTree& tree, const ShardSlot& slot,
                                            const Bytes& stored) const;
  Result<std::shared_ptr<const DecodedChunk>> Decoded(ShardedTree& tree, const ShardSlot& slot,
                                                      const ShardGenerationPtr& generation,
                                                      const ByteRange& entry);
  // Fails once for each chunk whose size a look-up may have taken from a wrong trailer.
  Status CheckAnnouncedSize(const ShardGeneration& generation, const ShardSlot& slot,
                            const DecodedChunk& decoded);
  void PrefetchSweep(const ShardedTree& tree, const ShardGeneration& generation,
                     const ByteRange& entry);
  Result<FilePiece> ReadVerbatim(ShardedTree& tree, const ShardSlot& slot,
                                 const ShardGenerationPtr& generation, const ByteRange& whole,
                                 const ByteRange& range);

  const std::shared_ptr<ByteBudgetCache> decoded_;
  const std::uint64_t max_chunk_bytes_;
  const std::uint64_t cache_owner_;
  const std::uint64_t fetched_owner_;
  const bool reads_whole_;
  const std::shared_ptr<ReadCounters> counters_;
  ByteGate being_read_;
  ReadAhead read_ahead_;  // where the kernel prefetches
  SweepReader sweeps_;    // where each request counts
  ByteGate decoding_;
  // Look-ups since the last read.
  std::atomic<std::uint32_t> unread_lookups_{0};
  std::atomic<bool> trailers_used_{false};
  std::atomic<bool> trailers_lie_{false};
  std::mutex mutex_;
  std::set<std::pair<std::string, std::uint64_t>> corrected_;  // guarded by mutex_
};

}  // namespace unshard
