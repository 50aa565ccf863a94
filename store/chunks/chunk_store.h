// The chunks of one array, scale or index: their generations and their bytes, stored in shards or
// computed.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codec/core/error.h"
#include "codec/grid/chunk_names.h"
#include "codec/shard/chunk_locator.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

// One file of a chunk. Only the tree and the store that made `slot` interpret it; other code passes
// it on.
struct ChunkRef {
  ShardSlot slot;
  ChunkPart part = ChunkPart::kPlain;

  // Another file of the same chunk.
  [[nodiscard]] ChunkRef With(ChunkPart other) const { return {slot, other}; }
  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

// One version of the object that holds a chunk, its shard. Chunks of one generation never change.
struct ChunkGeneration {
  // Distinguishes the generations of one object that are in use at the same time. Small: it is a
  // part of node numbers.
  std::uint32_t number = 0;
  timespec modified{};  // st_mtime of all its chunks
  // Keeps the bytes readable; of the store that made it.
  std::shared_ptr<const void> lease;
};

// A chunk that exists.
struct ChunkFacts {
  std::uint64_t size = 0;
  ByteRange stored;  // in the object that holds it
  ChunkGeneration generation;
};

// Where the bytes of a chunk are, for extended attributes of its file.
struct ChunkLocation {
  std::string object;  // key in the store
  ByteRange stored;
  std::uint64_t id = 0;    // in the object
  std::string generation;  // the tag of the object's generation
};

// The failure of a chunk that cannot be decoded within memory=. `chunk` names it, as in "a/0: a
// chunk".
inline tl::unexpected<Error> TooLargeToDecode(const std::string& chunk, std::uint64_t bytes) {
  return Fail(ErrorCode::kResourceExhausted, chunk, " of ", bytes,
              " bytes is too large to decode within the memory cap: raise memory=");
}

// A piece of a file, as bytes or as a slice of an open file.
using FilePiece = std::variant<Bytes, FileSlice>;

// A range of an object.
struct ObjectRange {
  std::shared_ptr<ObjectVersion> object;
  ByteRange range;
};

// Another process has changed an object that holds chunks, or its generation has another number.
struct ChunkChange {
  std::uint64_t shard = 0;
  // All generations whose chunks may have been presented since the last change, and the new one.
  std::vector<ChunkGeneration> generations;
  bool complete = true;       // false: there may have been others
  bool came_or_went = false;  // it was created or removed
  bool replaced = true;       // false: it is the same version of the object
};
struct ChunkChanges {
  std::vector<ChunkChange> changes;
  // Nothing that is presented can have changed: the key is that of an object whose present version
  // was announced before or published by this process.
  bool up_to_date = false;
};

// What reading has cost so far, and how many objects are known that exist.
struct ChunkStoreCounters {
  std::uint64_t opens = 0;        // objects opened, or found missing
  std::uint64_t index_reads = 0;  // range reads of indexes, beside those that open an object
  std::size_t open_objects = 0;
};

// Thread-safe. Generations are those of the same store; a ChunkRef is one of its tree.
class ChunkStore {
 public:
  virtual ~ChunkStore() = default;

  // The generation that holds, or would hold, a chunk now.
  virtual Result<ChunkGeneration> Current(const ChunkRef& chunk, const Deadline& deadline) = 0;
  // The generation with this number, current or still referenced; nothing where it is gone.
  virtual std::optional<ChunkGeneration> Find(const ChunkRef& chunk, std::uint32_t number) = 0;
  // Counts the kernel's references to chunks of a generation, which keep it.
  virtual void AddReference(const ChunkGeneration& generation) = 0;
  virtual void DropReferences(const ChunkRef& chunk, std::uint32_t number,
                              std::uint64_t references) = 0;

  // A chunk as it is stored now, or in one generation. Nothing where it is absent; kDataLoss where
  // its entry is damaged; kConflict where the object was overwritten meanwhile. The size is exact;
  // codec/FORMATS.md, "Sizes", says what it costs.
  virtual Result<std::optional<ChunkFacts>> Latest(const ChunkRef& chunk) = 0;
  virtual Result<std::optional<ChunkFacts>> LatestIn(const ChunkRef& chunk,
                                                     const ChunkGeneration& generation) = 0;
  // Whether Latest needs no read beside that of the index.
  [[nodiscard]] virtual bool SizeIsFree(const ChunkRef& chunk) const = 0;
  // Nothing where it is absent.
  virtual Result<std::optional<ChunkLocation>> Locate(const ChunkRef& chunk,
                                                      const ChunkGeneration& generation) = 0;
  // After a look-up: the range to prefetch for the read that will follow, judged by the latest
  // look-ups. Nothing where no read is expected, or prefetching does not pay.
  virtual std::optional<ObjectRange> NextRead(const ChunkFacts& facts) = 0;
  // Before a chunk that was found is opened: where the store does not keep replaced versions, its
  // bytes are read now, unless they have been. kConflict where the generation is gone.
  virtual Status Load(const ChunkRef& chunk, const ChunkFacts& facts) {
    (void)chunk, (void)facts;
    return {};
  }
  // Up to `size` bytes from `offset` of a chunk, fewer only at its end.
  virtual Result<FilePiece> Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                                 std::uint64_t offset, std::uint64_t size) = 0;
  // The same of a chunk that Latest or LatestIn found: without another look-up, where it can be.
  virtual Result<FilePiece> ReadFound(const ChunkRef& chunk, const ChunkFacts& facts,
                                      std::uint64_t offset, std::uint64_t size) {
    return Read(chunk, facts.generation, offset, size);
  }

  // The bytes of a chunk that was found and is being opened, where commits would take them from its
  // readers; nothing elsewhere. kConflict where they are gone.
  virtual Result<std::optional<Bytes>> Hold(const ChunkRef& chunk, const ChunkFacts& facts) {
    (void)chunk, (void)facts;
    return std::nullopt;
  }

  // Calls `visitor` for the chunks of a generation.
  using ChunkVisitor = std::function<void(const ChunkRef&)>;
  virtual Status ForEachPresent(const ChunkGeneration& generation, const ChunkVisitor& visitor) = 0;
  // The object under `key` (of the store), or one below it, may have changed; "": any of them.
  // Called by one thread, which announces the changes.
  virtual ChunkChanges Invalidate(const std::string& key) = 0;
  // Whether objects whose chunks were presented may have been forgotten: no change of them is
  // returned.
  [[nodiscard]] virtual bool has_forgotten() const { return false; }
  [[nodiscard]] virtual ChunkStoreCounters counters() const { return {}; }

  // Whether a chunk that is not stored is presented as a chunk of the fill value.
  [[nodiscard]] virtual bool presents_absent() const { return false; }
  // Whether ChunkPart::kStored has other bytes than kPlain.
  [[nodiscard]] virtual bool encodes() const { return false; }
  // The bytes of kStored for these plain bytes.
  [[nodiscard]] virtual Result<Bytes> Encode(Bytes plain) const { return plain; }
  // The key of the object that a write of the chunk replaces; nothing where chunks are computed and
  // cannot be written.
  [[nodiscard]] virtual std::optional<std::string> ReplacedKey(const ChunkRef& chunk) const {
    (void)chunk;
    return std::nullopt;
  }
};

}  // namespace unshard
