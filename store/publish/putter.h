// Puts a new version of a shard together, as its assembly says.
#pragma once

#include <optional>
#include <vector>

#include "codec/shard/assembly.h"
#include "store/object/object_replacement.h"
#include "store/publish/plan.h"

namespace unshard {

// What has been put.
struct PutShard {
  std::uint64_t size = 0;           // of the new object
  std::uint64_t bytes_written = 0;  // by writes and copies
  std::uint64_t chunk_bytes = 0;    // of all chunks, leading ones included
  std::vector<StoredChunk> chunks;  // ascending by page and slot: what the index has to say
};

// One run, used by one thread. Holds one chunk in memory where chunks are encoded, else none.
class ShardPutter {
 public:
  // `base` is decoded, and what `to` copies from. All have to outlive the putter.
  ShardPutter(const PublishRequest& request, const PublisherOptions& options,
              const ShardObject& base, const ShardPlan& plan, NewVersion& to)
      : request_(request), options_(options), base_(base), plan_(plan), to_(to) {}

  // A whole shard, into an empty version.
  Result<PutShard> PutWhole();
  // Adds to a version that has the bytes of the base. Nothing where the format cannot.
  Result<std::optional<PutShard>> PutAppended();

 private:
  Result<PutShard> Run(ShardAssembly& assembly);
  Result<PutChunk> PutKept(const PlannedChunk& chunk, std::uint64_t at);
  Result<PutChunk> PutChanged(const PlannedChunk& chunk, std::uint64_t at);
  Result<PutChunk> PutStored(const PlannedChunk& chunk, std::uint64_t at);
  Result<std::uint64_t> PutLeading(const PlannedChunk& chunk, std::uint64_t at);
  Result<std::uint64_t> PutEncoded(const PlannedChunk& chunk, File& source, std::uint64_t leading,
                                   std::uint64_t at);
  Status PutChecksum(const AssemblyStep& step);
  Result<std::shared_ptr<File>> OpenSource(
      const PlannedChunk& chunk, const std::function<Result<std::shared_ptr<File>>()>& open,
      std::uint64_t size) const;
  // The bytes of a file in the spool. Not by the kernel: file systems that clone would give each
  // chunk an extent of its own, and first write out a file that is about to go. Gives their
  // checksum.
  Result<std::uint32_t> CopyNew(File& source, std::uint64_t size, std::uint64_t at);
  [[nodiscard]] Status CheckNew(const PlannedChunk& chunk,
                                const std::optional<ChunkFingerprint>& expected,
                                std::uint32_t checksum) const;
  Status Write(std::uint64_t at, ByteSpan bytes);
  Status CopyBase(const ByteRange& range, std::uint64_t at);
  Status FlushCopy();
  [[nodiscard]] std::string Describe(const PlannedChunk& chunk) const {
    return DescribeSlot(base_.described(), chunk.page, chunk.slot);
  }

  const PublishRequest& request_;
  const PublisherOptions& options_;
  const ShardObject& base_;
  const ShardPlan& plan_;
  NewVersion& to_;
  // Of the base, still to be copied: neighbours are copied at once, in long ranges.
  ByteRange pending_;
  std::uint64_t pending_at_ = 0;
  PutShard put_;
};

}  // namespace unshard
