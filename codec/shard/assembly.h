// Assembly of a new version of a shard, sans-I/O: the assembly names the next bytes and their
// offset, the caller writes them.
//
// ShardFormat::Assemble gives a whole new shard, always the same for the same content.
// ShardFormat::Append extends a copy of the base, the present version. Kept chunks keep their
// offsets; new chunks and new indexes follow everything that is still in use. Replaced and removed
// chunks become garbage, in precomputed shards also the old indexes of the pages that change. Zarr
// overwrites the old index and all other bytes after the last kept chunk.
//
// Bytes that no step writes are zeros in a new object and the base's bytes in a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/bytes_digest.h"
#include "codec/core/error.h"

namespace unshard {

// One inner chunk of the new version.
struct AssembledChunk {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  // Append only: the range of the base that contains the stored bytes, which are kept (and the
  // leading bytes of a mesh before them). Nothing: the caller writes them.
  std::optional<ByteRange> kept;
};

struct AssemblyStep {
  enum class Kind {
    kChunk,     // write chunk number `chunk` at `at`; the next call takes its size
    kBytes,     // write `bytes` at `at`
    kChecksum,  // write at `at` the digest of the bytes `covered` of the new object
    kDone,      // set the size of the new object to `at`: this adds zeros that no step wrote, or
                // cuts what is left of the base
  };
  Kind kind = Kind::kDone;
  std::uint64_t at = 0;
  std::size_t chunk = 0;
  ByteVector bytes{};
  ByteRange covered{};
  std::shared_ptr<BytesDigest> digest{};
};

// The sizes of what the caller wrote for the last kChunk step: bytes that no index refers to (the
// fragments before a mesh manifest), then the stored bytes. Both 0 after any other step.
struct PutChunk {
  std::uint64_t leading = 0;
  std::uint64_t stored = 0;
};

// One assembly. Used by one thread. An index at the start of a shard is written last.
class ShardAssembly {
 public:
  virtual ~ShardAssembly() = default;
  // Fails with kResourceExhausted where the shard would exceed kMaxShardBytes, and with
  // kInternal on chunks that belong to another shard, occur twice, or are kept outside of the base.
  // Must not be called again after kDone or a failure.
  virtual Result<AssemblyStep> Next(const PutChunk& put) = 0;
};

// For implementations: what the assemblies of all formats share.

// The largest shard: readers use signed offsets of 64 bits.
inline constexpr std::uint64_t kMaxShardBytes = ~std::uint64_t{0} >> 1;

// One chunk, and its range once that is known.
struct ChunkPlace {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  std::size_t number = 0;  // in the caller's list
  bool kept = false;
  ByteRange range;  // of the stored bytes, once they are written
};

// The chunks in ascending order of page and slot.
std::vector<ChunkPlace> InOrder(const std::vector<AssembledChunk>& chunks);
// Fails with kInternal where `places`, as InOrder returns them, have a slot twice, or a kept chunk
// outside of `data`.
Status CheckPlaces(std::span<const ChunkPlace> places, const ByteRange& data);
// end + size, or kResourceExhausted where that is above kMaxShardBytes.
Result<std::uint64_t> GrowShard(std::uint64_t end, std::uint64_t size);

}  // namespace unshard
