#include "store/publish/putter.h"

#include <algorithm>

#include "codec/core/checksum.h"
#include "codec/precomputed/mesh_manifest.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumPiece = std::uint64_t{1} << 20;

}  // namespace

Result<PutShard> ShardPutter::PutWhole() {
  std::vector<AssembledChunk> chunks;
  chunks.reserve(plan_.chunks.size());
  put_.chunks.reserve(plan_.chunks.size());
  for (const PlannedChunk& chunk : plan_.chunks) {
    chunks.push_back({chunk.page, chunk.slot, std::nullopt});
    put_.chunks.push_back({chunk.page, chunk.slot, {}});
  }
  const auto assembly = request_.format->Assemble(request_.shard, std::move(chunks));
  return Run(*assembly);
}

Result<std::optional<PutShard>> ShardPutter::PutAppended() {
  std::vector<AssembledChunk> chunks;
  chunks.reserve(plan_.chunks.size());
  put_.chunks.reserve(plan_.chunks.size());
  for (const PlannedChunk& chunk : plan_.chunks) {
    std::optional<ByteRange> kept;
    if (chunk.change == nullptr) {
      kept = chunk.base;
      put_.chunk_bytes += chunk.leading + chunk.base.size;
    }
    chunks.push_back({chunk.page, chunk.slot, kept});
    put_.chunks.push_back({chunk.page, chunk.slot, chunk.base});
  }
  const auto assembly =
      request_.format->Append(request_.shard, std::move(chunks), plan_.changed_pages, base_.size());
  if (!assembly) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(PutShard put, Run(*assembly));
  return std::make_optional(std::move(put));
}

Result<PutShard> ShardPutter::Run(ShardAssembly& assembly) {
  PutChunk put;
  for (;;) {
    auto next = assembly.Next(std::exchange(put, {}));
    if (!next) return Forward(std::move(next).error(), base_.described());
    const AssemblyStep& step = *next;
    switch (step.kind) {
      case AssemblyStep::Kind::kChunk: {
        const PlannedChunk& chunk = plan_.chunks[step.chunk];
        UNSHARD_ASSIGN_OR_RETURN(
            put, chunk.change == nullptr ? PutKept(chunk, step.at) : PutChanged(chunk, step.at));
        put_.chunks[step.chunk].range = {step.at + put.leading, put.stored};
        put_.chunk_bytes += put.leading + put.stored;
        break;
      }
      case AssemblyStep::Kind::kBytes:
        UNSHARD_RETURN_IF_ERROR(Write(step.at, step.bytes));
        break;
      case AssemblyStep::Kind::kChecksum:
        UNSHARD_RETURN_IF_ERROR(PutChecksum(step));
        break;
      case AssemblyStep::Kind::kDone:
        UNSHARD_RETURN_IF_ERROR(FlushCopy());
        UNSHARD_RETURN_IF_ERROR(to_.SetSize(step.at));
        put_.size = step.at;
        return std::move(put_);
    }
  }
}

Result<PutChunk> ShardPutter::PutKept(const PlannedChunk& chunk, std::uint64_t at) {
  UNSHARD_RETURN_IF_ERROR(
      CopyBase({chunk.base.begin - chunk.leading, chunk.leading + chunk.base.size}, at));
  return PutChunk{chunk.leading, chunk.base.size};
}

Result<PutChunk> ShardPutter::PutChanged(const PlannedChunk& chunk, std::uint64_t at) {
  const ShardChange& change = *chunk.change;
  PutChunk put;
  if (request_.has_leading) {
    UNSHARD_ASSIGN_OR_RETURN(put.leading, PutLeading(chunk, at));
    at += put.leading;
  }
  if (change.stored) return PutStored(chunk, at);
  UNSHARD_ASSIGN_OR_RETURN(const auto source, OpenSource(chunk, change.open, change.size));
  if (request_.format->stored_is_plain() && !request_.has_leading) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t checksum, CopyNew(*source, change.size, at));
    UNSHARD_RETURN_IF_ERROR(CheckNew(chunk, change.put, checksum));
    put.stored = change.size;
    return put;
  }
  UNSHARD_ASSIGN_OR_RETURN(put.stored, PutEncoded(chunk, *source, put.leading, at));
  return put;
}

Result<PutChunk> ShardPutter::PutStored(const PlannedChunk& chunk, std::uint64_t at) {
  UNSHARD_ASSIGN_OR_RETURN(const Bytes stored, chunk.change->stored());
  if (stored.size() != chunk.change->size) {
    return Fail(ErrorCode::kDataLoss, Describe(chunk), ": expected ", chunk.change->size,
                " new bytes, found ", stored.size());
  }
  UNSHARD_RETURN_IF_ERROR(Write(at, stored.span()));
  return PutChunk{0, stored.size()};
}

// The fragments of a mesh: new ones, or those of the base.
Result<std::uint64_t> ShardPutter::PutLeading(const PlannedChunk& chunk, std::uint64_t at) {
  const ShardChange& change = *chunk.change;
  if (!change.open_leading) {
    UNSHARD_RETURN_IF_ERROR(CopyBase({chunk.base.begin - chunk.leading, chunk.leading}, at));
    return chunk.leading;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto source,
                           OpenSource(chunk, change.open_leading, change.leading_size));
  UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t checksum, CopyNew(*source, change.leading_size, at));
  if (change.leading) UNSHARD_RETURN_IF_ERROR(CheckNew(chunk, change.leading->put, checksum));
  return change.leading_size;
}

Result<std::uint64_t> ShardPutter::PutEncoded(const PlannedChunk& chunk, File& source,
                                              std::uint64_t leading, std::uint64_t at) {
  const std::uint64_t size = chunk.change->size;
  if (size > options_.max_chunk_bytes) {
    return Fail(ErrorCode::kResourceExhausted, Describe(chunk), ": is above the cap of ",
                options_.max_chunk_bytes, " bytes");
  }
  ByteVector plain(static_cast<std::size_t>(size));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, source.Read(0, plain));
  if (found != plain.size()) {
    return Fail(ErrorCode::kDataLoss, Describe(chunk), ": its new bytes end early");
  }
  UNSHARD_RETURN_IF_ERROR(CheckNew(chunk, chunk.change->put, Checksum(plain)));
  if (request_.has_leading) {
    const auto announced = MeshFragmentBytes(plain);
    if (!announced || *announced != leading) {
      return Fail(ErrorCode::kInvalidArgument, Describe(chunk), ": expected a manifest of ",
                  leading, " bytes of fragments, found ",
                  announced ? std::to_string(*announced) : announced.error().message);
    }
  }
  auto encoded = request_.format->EncodeEntry(Bytes(std::move(plain)));
  if (!encoded) return Forward(std::move(encoded).error(), Describe(chunk));
  UNSHARD_RETURN_IF_ERROR(Write(at, encoded->span()));
  return std::uint64_t{encoded->size()};
}

Status ShardPutter::PutChecksum(const AssemblyStep& step) {
  UNSHARD_RETURN_IF_ERROR(FlushCopy());
  ByteVector piece;
  for (std::uint64_t done = 0; done < step.covered.size; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kChecksumPiece, step.covered.size - done)));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t found,
                             to_.ReadBack(step.covered.begin + done, piece));
    // Beyond what was put so far the object will be zeros.
    std::fill(piece.begin() + static_cast<std::ptrdiff_t>(found), piece.end(), std::uint8_t{0});
    step.digest->Update(piece);
  }
  return Write(step.at, step.digest->Finish());
}

Result<std::shared_ptr<File>> ShardPutter::OpenSource(
    const PlannedChunk& chunk, const std::function<Result<std::shared_ptr<File>>()>& open,
    std::uint64_t size) const {
  auto source = open();
  if (!source) return Forward(std::move(source).error(), Describe(chunk));
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, (*source)->Stat());
  if (status.size == size) return source;
  return Fail(ErrorCode::kDataLoss, Describe(chunk), ": expected ", size, " new bytes, found ",
              status.size);
}

// After a failed write-back the page cache may differ from what was written.
Status ShardPutter::CheckNew(const PlannedChunk& chunk,
                             const std::optional<ChunkFingerprint>& expected,
                             std::uint32_t checksum) const {
  if (!expected || expected->absent || expected->checksum == checksum) return {};
  return Fail(ErrorCode::kDataLoss, Describe(chunk),
              ": its new bytes are not those that were written");
}

Result<std::uint32_t> ShardPutter::CopyNew(File& source, std::uint64_t size, std::uint64_t at) {
  auto checksum = ReadWithChecksum(source, {0, size}, 0, [&](std::uint64_t done, ByteSpan piece) {
    return Write(at + done, piece);
  });
  if (!checksum) return Forward(std::move(checksum).error(), base_.described() + ": its new bytes");
  return checksum;
}

Status ShardPutter::Write(std::uint64_t at, ByteSpan bytes) {
  put_.bytes_written += bytes.size();
  return to_.Write(at, bytes);
}

// Puts off: a range that follows in both versions joins it, so that the store copies long ranges.
Status ShardPutter::CopyBase(const ByteRange& range, std::uint64_t at) {
  if (range.begin == pending_.end() && at == pending_at_ + pending_.size) {
    pending_.size += range.size;
    return {};
  }
  UNSHARD_RETURN_IF_ERROR(FlushCopy());
  pending_ = range;
  pending_at_ = at;
  return {};
}

Status ShardPutter::FlushCopy() {
  const ByteRange range = std::exchange(pending_, {});
  if (range.size == 0) return {};
  put_.bytes_written += range.size;
  return to_.CopyBase(range, pending_at_);
}

}  // namespace unshard
