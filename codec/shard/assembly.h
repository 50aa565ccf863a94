// Putting together a new version of a shard, sans-I/O: the assembly says which bytes come next and
// where they go, the caller puts them there.
//
// ShardFormat::Assemble lays a whole shard out anew, always the same for the same content.
// ShardFormat::Append adds to a copy of the shard as it was: kept chunks stay where they are, new
// ones and new indexes follow behind all that is still in use, and what they replace becomes
// garbage: replaced and removed chunks, and, in precomputed shards, the old indexes of the pages
// that change. Zarr writes over its old index and over what else lies behind the last kept chunk.
//
// Whatever no step puts stays as it is: zeros in a new object, the base's bytes in a copy.
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

// One inner chunk of the version that is put together.
struct AssembledChunk {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  // Append only: the stored bytes stand there already and stay, as do the leading bytes of a mesh
  // before them. Nothing: they are put.
  std::optional<ByteRange> kept;
};

struct AssemblyStep {
  enum class Kind {
    kChunk,     // put chunk number `chunk` at `at`, then tell its size with the next call
    kBytes,     // put `bytes` at `at`
    kChecksum,  // put the digest of the bytes `covered` of the new object, as they are now, at `at`
    kDone,      // the new object is whole once it is made `at` bytes long: longer where its end
                // was not put (zeros), shorter where the base went on
  };
  Kind kind = Kind::kDone;
  std::uint64_t at = 0;
  std::size_t chunk = 0;
  ByteVector bytes{};
  ByteRange covered{};
  std::shared_ptr<BytesDigest> digest{};
};

// What was put for the last kChunk step: first bytes that no index refers to (the fragments before
// a mesh manifest), then the stored bytes. Both 0 for any other step.
struct PutChunk {
  std::uint64_t leading = 0;
  std::uint64_t stored = 0;
};

// One run. Used by one thread. Steps at lower offsets than before occur: indexes at the start of a
// shard are put last.
class ShardAssembly {
 public:
  virtual ~ShardAssembly() = default;
  // Fails with kResourceExhausted where the shard would become larger than its index can say
  // (2^63 - 1 bytes), and with kInternal on chunks that are none of this shard, stand twice, or are
  // kept outside of the base. After kDone and after a failure it must not be called again.
  virtual Result<AssemblyStep> Next(const PutChunk& put) = 0;
};

// For implementations: what the assemblies of all formats do alike.

// No shard is larger: readers count offsets in signed integers of 64 bits.
inline constexpr std::uint64_t kLargestShardBytes = ~std::uint64_t{0} >> 1;

// One chunk on its way into an index.
struct ChunkPlace {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  std::size_t number = 0;  // as the caller counts
  bool kept = false;
  ByteRange range;  // of the stored bytes, once they are put
};

// The chunks in ascending order of page and slot.
std::vector<ChunkPlace> InOrder(const std::vector<AssembledChunk>& chunks);
// Fails with kInternal where a slot stands twice in what InOrder returned, or a chunk is kept that
// does not lie within `data`.
Status CheckPlaces(std::span<const ChunkPlace> places, const ByteRange& data);
// end + size, or kResourceExhausted where that is above kLargestShardBytes.
Result<std::uint64_t> GrowShard(std::uint64_t end, std::uint64_t size);

}  // namespace unshard
