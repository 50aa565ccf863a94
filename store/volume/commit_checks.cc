#include "store/volume/commit_checks.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>

#include "store/chunks/presented_tree.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/deadline.h"
#include "store/publish/can_publish.h"

namespace unshard {
namespace {

tl::unexpected<Error> TooLarge(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kInvalidArgument, std::move(message), EFBIG});
}

// The bytes of a shard's stored chunks without those at `replaced`; or the size of the whole shard,
// if that is at most `enough`. Counting ends with the page that exceeds `enough`. The index, and
// the shard that holds it, are those that a commit reads anyway.
Result<std::uint64_t> StoredBytesBeside(ShardSet& shards, std::uint64_t shard,
                                        const std::map<ShardPlace, std::uint64_t>& replaced,
                                        std::uint64_t enough) {
  UNSHARD_ASSIGN_OR_RETURN(const ShardGenerationPtr generation,
                           shards.Current(shard, CallerDeadline()));
  if (!generation->object) return 0;
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t decoded,
                           shards.DecodedSize(generation, CallerDeadline()));
  if (decoded <= enough) return decoded;
  std::uint64_t bytes = 0;
  for (std::uint64_t page = 0; page < shards.format().page_count() && bytes <= enough; ++page) {
    UNSHARD_ASSIGN_OR_RETURN(const auto index, shards.Page(generation, page, CallerDeadline()));
    for (const IndexEntry& entry : index->entries()) {
      if (!replaced.contains({page, entry.slot})) bytes += entry.range.size;
    }
  }
  return bytes;
}

}  // namespace

Status CommitChecks::CanWrite(const ChunkTree& tree) const {
  const auto* presented = dynamic_cast<const PresentedTree*>(&tree);
  if (presented != nullptr) UNSHARD_RETURN_IF_ERROR(presented->CanStore());
  const auto elsewhere = tree.stored_elsewhere();
  const auto* stored = elsewhere ? elsewhere.get() : dynamic_cast<const ShardedTree*>(&tree);
  if (stored == nullptr) {
    return Fail(ErrorCode::kReadOnly, "its chunks are computed from those of another dataset");
  }
  return CanPublishFormat(stored->shards().format(),
                          {limits_.max_index_bytes, limits_.max_whole_shard_bytes});
}

Result<ByteGate::Pass> CommitChecks::RoomFor(std::uint64_t bytes) const {
  return EnterGate(converting_, bytes, CallerDeadline());
}

Status CommitChecks::CheckBytes(const ChunkTree& tree, const ChunkRef& chunk, std::uint64_t size,
                                const ReadStart& read) const {
  if (!ShardedOf(tree).shards().format().stored_is_plain() && size > limits_.max_chunk_bytes) {
    return TooLarge("a chunk that is stored compressed may have at most " +
                    std::to_string(limits_.max_chunk_bytes) + " bytes, found " +
                    std::to_string(size));
  }
  if (chunk.part == ChunkPart::kFragments) return {};
  const std::uint64_t needed = std::min(size, tree.check().NeededBytes(size));
  // What is decoded is decoded in pieces, or to the size of a chunk.
  UNSHARD_ASSIGN_OR_RETURN(const auto room, RoomFor(needed));
  ByteVector start(needed);
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t bytes, read(start));
  start.resize(bytes);
  return tree.CheckChunk(chunk, size, start);
}

Status CommitChecks::CheckShardFits(const ChunkTree& tree, const ChunkRef& chunk,
                                    std::uint64_t size) const {
  ShardSet& shards = ShardedOf(tree).shards();
  if (!shards.format().has_outer_codecs()) return {};
  const std::uint64_t cap = limits_.max_whole_shard_bytes;
  const ChunkId id = ChunkId::Of(tree, chunk);
  std::map<ShardPlace, std::uint64_t> written = written_->SpooledSizes(id.shard());
  written[{id.slot.page, id.slot.slot}] = size;
  std::uint64_t body = shards.format().fixed_index_bytes();
  for (const auto& [place, bytes] : written) body += bytes;
  if (body <= cap) {
    const auto others = StoredBytesBeside(shards, id.slot.shard, written, cap - body);
    // Other failures to read the shard are those of the commit, which reads what it replaces.
    const bool above = !others && others.error().code == ErrorCode::kResourceExhausted;
    body = above ? cap + 1 : body + others.value_or(0);
  }
  if (body <= cap) return {};
  return TooLarge("its shard is compressed as a whole, and would take at least " +
                  std::to_string(body) + " bytes of memory, above the cap of " +
                  std::to_string(cap) + ": mount with a larger memory=");
}

}  // namespace unshard
