// Putting together a new version of a shard, sans-I/O: the assembly says which bytes come next and
// where they go, the caller puts them there.
//
// ShardFormat::Assemble lays a whole shard out anew, always the same for the same content.
// ShardFormat::Append adds to a copy of the shard as it was: kept chunks stay where they are, new
// ones and new indexes follow at its end, and what they replace becomes garbage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/byte_range.h"
#include "codec/bytes.h"
#include "codec/error.h"

namespace unshard {

class BytesDigest;

// One inner chunk of the version that is put together.
struct AssembledChunk {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  // Append only: the stored bytes stand there already and stay. Nothing: they are put.
  std::optional<ByteRange> kept;
};

struct AssemblyStep {
  enum class Kind {
    kChunk,     // put chunk number `chunk` at `at`, then tell its size with the next call
    kBytes,     // put `bytes` at `at`
    kChecksum,  // put the digest of the bytes `covered` of the new object, as they are now, at `at`
    kDone,      // the new object is whole and has `at` bytes
  };
  Kind kind = Kind::kDone;
  std::uint64_t at = 0;
  std::size_t chunk = 0;
  ByteVector bytes;
  ByteRange covered;
  std::shared_ptr<BytesDigest> digest;
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
  // Fails with kResourceExhausted where the shard would become larger than its index can say.
  virtual Result<AssemblyStep> Next(const PutChunk& put) = 0;
};

// A checksum over bytes that come in pieces.
class BytesDigest {
 public:
  virtual ~BytesDigest() = default;
  virtual void Update(ByteSpan bytes) = 0;
  [[nodiscard]] virtual ByteVector Finish() const = 0;
};

}  // namespace unshard
