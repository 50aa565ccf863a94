// Whether a chunk can be committed: whether its bytes can be right, and whether its shard can be
// published with them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "store/chunks/committed_versions.h"
#include "store/object/byte_gate.h"
#include "store/publish/publisher.h"

namespace unshard {

// Thread-safe; immutable. Everything is refused with kInvalidArgument unless said otherwise.
class CommitChecks {
 public:
  // `limits`: those of the publisher. `converting`: bounds what all commits together have in
  // memory; null: nothing does.
  CommitChecks(std::shared_ptr<const CommittedVersions> written, const PublisherOptions& limits,
               ByteGate* converting = nullptr)
      : written_(std::move(written)), limits_(limits), converting_(converting) {}

  // kNotSupported, kReadOnly where no shard of this tree can be published, whatever is written. The
  // other checks are those of the tree in which chunks are stored.
  [[nodiscard]] Status CanWrite(const ChunkTree& tree) const;
  // Copies the start of a chunk's bytes to `to`; the count is smaller only where they end.
  using ReadStart = std::function<Result<std::size_t>(std::span<std::uint8_t> to)>;
  // Room for a commit that has so many bytes in memory, until it is destroyed. CheckBytes has room
  // of its own.
  [[nodiscard]] Result<ByteGate::Pass> RoomFor(std::uint64_t bytes) const;
  // Checks size and first bytes against the format of the chunk; EFBIG above max_chunk_bytes().
  Status CheckBytes(const ChunkTree& tree, const ChunkRef& chunk, std::uint64_t size,
                    const ReadStart& read) const;
  // EFBIG where the shard is encoded as a whole and would be above the limit: together with all
  // that it holds, and all that waits in a spool for it. May read the shard.
  Status CheckShardFits(const ChunkTree& tree, const ChunkRef& chunk, std::uint64_t size) const;
  // Of a chunk that is stored compressed.
  [[nodiscard]] std::uint64_t max_chunk_bytes() const { return limits_.max_chunk_bytes; }

 private:
  const std::shared_ptr<const CommittedVersions> written_;
  const PublisherOptions limits_;
  ByteGate* const converting_;
};

}  // namespace unshard
