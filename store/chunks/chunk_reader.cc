#include "store/chunks/chunk_reader.h"

#include <algorithm>
#include <chrono>

#include "codec/codecs/gzip.h"
#include "codec/precomputed/mesh_manifest.h"
#include "store/chunks/sharded_tree.h"

namespace unshard {
namespace {

// After this many look-ups in a row without a read (ls -l, du), sizes come from gzip trailers and
// nothing is prefetched. Before, a look-up decodes the chunk: a read is likely to follow, and finds
// it decoded.
constexpr std::uint32_t kUnreadLookups = 16;
constexpr std::uint64_t kTrailerBytes = 4;
// Others may replace a shard each time between its index and its chunk; who overwrites one in place
// leaves nothing to read meanwhile.
constexpr int kTriesOfReplaced = 16;
constexpr int kTriesOfOverwritten = 3;
constexpr std::size_t kMaxCorrected = 65536;
// Of a chunk whose index entry is damaged: its size is unknown, and no program may take it for
// empty.
constexpr std::uint64_t kSizeOfDamaged = 1;

Error InShard(const Error& error, const ShardGeneration& generation) {
  return Error(error).Annotate(generation.key);
}

Error DamagedEntry(const ShardGeneration& generation) {
  return Error{ErrorCode::kDataLoss,
               generation.key + ": the index entry of this chunk reaches beyond the shard", 0};
}

}  // namespace

ChunkReader::ChunkReader(std::shared_ptr<ByteBudgetCache> decoded, std::uint64_t max_chunk_bytes,
                         std::shared_ptr<ReadCounters> counters, const Capabilities& store)
    : decoded_(std::move(decoded)),
      max_chunk_bytes_(max_chunk_bytes),
      cache_owner_(NewCacheOwner()),
      fetched_owner_(NewCacheOwner()),
      reads_whole_(!store.keeps_replaced_versions),
      counters_(std::move(counters)),
      being_read_(max_chunk_bytes),
      sweeps_(decoded_, max_chunk_bytes),
      decoding_(max_chunk_bytes) {}

bool ChunkReader::SizeIsFree(const ShardedTree& tree, const ChunkRef& chunk) {
  if (chunk.part == ChunkPart::kFragments) return false;
  if (chunk.part == ChunkPart::kStored || tree.shards().format().stored_is_plain()) return true;
  return tree.PlainSize(chunk.slot) != 0;
}

Result<std::optional<ChunkFacts>> ChunkReader::Find(ShardedTree& tree, const ChunkRef& chunk) {
  // A shard that is overwritten in place while its index is read, or replaced in a store that does
  // not keep what was replaced, is refreshed: the failed read has marked it stale. Only the thread
  // that notifies the kernel may call Invalidate(): a change that it returned here would count as
  // announced, and the kernel would never be notified of it.
  const int tries = reads_whole_ ? kTriesOfReplaced : kTriesOfOverwritten;
  for (int i = 1;; ++i) {
    auto found = FindNow(tree, chunk);
    if (found || found.error().code != ErrorCode::kConflict || i == tries) return found;
  }
}

Result<std::optional<ChunkFacts>> ChunkReader::FindNow(ShardedTree& tree, const ChunkRef& chunk) {
  ShardSet& shards = tree.shards();
  if (reads_whole_ && ExpectsRead()) return FindByReading(tree, chunk);
  UNSHARD_ASSIGN_OR_RETURN(const auto generation,
                           shards.Current(chunk.slot.shard, CallerDeadline()));
  return FindIn(tree, chunk, generation);
}

Result<std::optional<ChunkFacts>> ChunkReader::FindByReading(ShardedTree& tree,
                                                             const ChunkRef& chunk) {
  ShardSet& shards = tree.shards();
  const std::uint64_t shard = chunk.slot.shard;
  const auto begun = std::chrono::steady_clock::now();
  UNSHARD_ASSIGN_OR_RETURN(
      ShardGenerationPtr generation,
      shards.Current(shard, CallerDeadline(), ShardSet::Trust::kUncontradicted));
  UNSHARD_ASSIGN_OR_RETURN(const auto entry,
                           Entry(tree, chunk.slot, generation, ShardSet::Ahead::kChunks));
  if (entry) UNSHARD_RETURN_IF_ERROR(Fetch(tree, chunk, generation, *entry));
  if (!shards.ValidatedSince(*generation, begun)) {
    UNSHARD_ASSIGN_OR_RETURN(generation, shards.Current(shard, CallerDeadline()));
  }
  return FindIn(tree, chunk, generation);
}

Status ChunkReader::Fetch(ShardedTree& tree, const ChunkRef& chunk,
                          const ShardGenerationPtr& generation, const ByteRange& entry) {
  if (entry == kDamagedRange) return {};  // reading the chunk fails
  UNSHARD_ASSIGN_OR_RETURN(const auto verbatim, VerbatimRange(tree, chunk, generation, entry));
  const ByteRange& range = verbatim ? *verbatim : entry;
  if (!IsFetchedWhole(tree, range)) return {};
  const CacheKey key =
      verbatim ? KeyOf(tree, generation, range) : KeyOf(tree, chunk.slot, generation);
  if (decoded_->Peek(key)) return {};
  const auto fetched = verbatim ? Fetched(tree, chunk.slot, generation, range)
                                : Decoded(tree, chunk.slot, generation, entry);
  // Damage is that of the chunk's bytes: its reader meets it.
  if (fetched || fetched.error().code == ErrorCode::kDataLoss) return {};
  return tl::unexpected<Error>(fetched.error());
}

Status ChunkReader::Load(ShardedTree& tree, const ChunkRef& chunk, const ChunkFacts& facts) {
  // What is known of fragments is not the entry that Fetch takes.
  if (!reads_whole_ || chunk.part == ChunkPart::kFragments) return {};
  const auto read = Fetch(tree, chunk, ShardGenerationOf(facts.generation), facts.stored);
  return read ? Status() : tl::unexpected<Error>(read.error());
}

bool ChunkReader::IsFetchedWhole(const ShardedTree& tree, const ByteRange& range) const {
  return reads_whole_ && !tree.shards().format().has_outer_codecs() && range.size != 0 &&
         range.size <= max_chunk_bytes_;
}

// Of a shard that is decoded whole chunks are slices, and who decodes it has room of its own.
Result<ByteGate::Pass> ChunkReader::RoomToRead(const ShardedTree& tree, std::uint64_t bytes) {
  if (tree.shards().format().has_outer_codecs()) return ByteGate::Pass();
  return being_read_.Enter(bytes, CallerDeadline());
}

Result<std::shared_ptr<const ChunkReader::DecodedChunk>> ChunkReader::Fetched(
    ShardedTree& tree, const ShardSlot& slot, const ShardGenerationPtr& generation,
    const ByteRange& range) {
  const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
    UNSHARD_ASSIGN_OR_RETURN(const ByteGate::Pass reading, RoomToRead(tree, range.size));
    counters_->data_reads.fetch_add(1, std::memory_order_relaxed);
    auto chunk = std::make_shared<DecodedChunk>();
    UNSHARD_ASSIGN_OR_RETURN(chunk->plain, ReadChunk(tree, slot, generation, range));
    return ByteBudgetCache::Loaded{chunk, chunk->plain.size() + sizeof(DecodedChunk)};
  };
  UNSHARD_ASSIGN_OR_RETURN(const auto value,
                           decoded_->Get(KeyOf(tree, generation, range), CallerDeadline(), load));
  return std::static_pointer_cast<const DecodedChunk>(value);
}

Result<std::optional<ByteRange>> ChunkReader::Entry(ShardedTree& tree, const ShardSlot& slot,
                                                    const ShardGenerationPtr& generation,
                                                    ShardSet::Ahead ahead) {
  if (!generation->object) return std::nullopt;
  const auto page = tree.shards().Page(generation, slot.page, CallerDeadline(), ahead);
  if (!page) return tl::unexpected<Error>(page.error());
  return (*page)->Find(slot.slot);
}

Result<std::optional<ChunkFacts>> ChunkReader::FindIn(ShardedTree& tree, const ChunkRef& chunk,
                                                      const ShardGenerationPtr& generation) {
  UNSHARD_ASSIGN_OR_RETURN(const auto entry, Entry(tree, chunk.slot, generation));
  if (!entry) return std::nullopt;
  ChunkFacts facts{0, *entry, GenerationOf(generation)};
  if (*entry == kDamagedRange) {
    facts.size = kSizeOfDamaged;
    return facts;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto verbatim, VerbatimRange(tree, chunk, generation, *entry));
  if (verbatim) {
    facts.size = verbatim->size;
    facts.stored = *verbatim;
    return facts;
  }
  UNSHARD_ASSIGN_OR_RETURN(facts.size, PlainSize(tree, chunk.slot, generation, *entry));
  return facts;
}

Result<std::optional<ByteRange>> ChunkReader::FindStored(ShardedTree& tree, const ChunkRef& chunk,
                                                         const ShardGenerationPtr& generation) {
  UNSHARD_ASSIGN_OR_RETURN(const auto entry, Entry(tree, chunk.slot, generation));
  if (!entry) return std::nullopt;
  if (*entry == kDamagedRange) return tl::unexpected<Error>(DamagedEntry(*generation));
  UNSHARD_ASSIGN_OR_RETURN(const auto verbatim, VerbatimRange(tree, chunk, generation, *entry));
  return verbatim ? verbatim : entry;
}

Result<std::optional<ByteRange>> ChunkReader::VerbatimRange(ShardedTree& tree,
                                                            const ChunkRef& chunk,
                                                            const ShardGenerationPtr& generation,
                                                            const ByteRange& entry) {
  if (chunk.part == ChunkPart::kStored) return entry;
  if (chunk.part == ChunkPart::kPlain) {
    if (tree.shards().format().stored_is_plain()) return entry;
    return std::nullopt;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto manifest, Decoded(tree, chunk.slot, generation, entry));
  const auto fragments = MeshFragmentBytes(manifest->plain.span());
  if (!fragments) return tl::unexpected<Error>(InShard(fragments.error(), *generation));
  const std::uint64_t index_bytes = tree.ShardIndexBytes();
  if (entry.begin < index_bytes || *fragments > entry.begin - index_bytes) {
    return Fail(ErrorCode::kDataLoss, generation->key, ": the manifest announces ", *fragments,
                " fragment bytes, more than the shard has before it");
  }
  return ByteRange{entry.begin - *fragments, *fragments};
}

Result<std::uint64_t> ChunkReader::PlainSize(ShardedTree& tree, const ShardSlot& slot,
                                             const ShardGenerationPtr& generation,
                                             const ByteRange& entry) {
  if (const std::uint64_t size = tree.PlainSize(slot); size != 0) return size;
  const bool unread = unread_lookups_.load(std::memory_order_relaxed) >= kUnreadLookups &&
                      !trailers_lie_.load(std::memory_order_relaxed);
  if (unread && entry.size >= kTrailerBytes) {
    counters_->data_reads.fetch_add(1, std::memory_order_relaxed);
    UNSHARD_ASSIGN_OR_RETURN(
        const Bytes trailer,
        tree.shards().ReadStored(generation, {entry.end() - kTrailerBytes, kTrailerBytes},
                                 CallerDeadline()));
    if (const auto size = PlausibleGzipSize(trailer.span(), entry.size)) {
      trailers_used_.store(true, std::memory_order_relaxed);
      return *size;
    }
  }
  const auto decoded = Decoded(tree, slot, generation, entry);
  if (decoded) return (*decoded)->plain.size();
  // A chunk that cannot be decoded is there: it can be replaced and removed, and its readers meet
  // the damage. They would not if the kernel took the file for empty.
  const bool damaged = decoded.error().code == ErrorCode::kDataLoss;
  if (damaged && entry.size != 0) return entry.size;
  return tl::unexpected<Error>(decoded.error());
}

// The slot identifies the chunk without the page: only precomputed entries are encoded, and their
// slot is the chunk id.
CacheKey ChunkReader::KeyOf(const ShardedTree& tree, const ShardSlot& slot,
                            const ShardGenerationPtr& generation) const {
  return {cache_owner_ + tree.ordinal() * std::uint64_t{0x100000000}, slot.shard,
          generation->serial, slot.slot};
}

// As many as the decoded chunk seems to have; DecodeEntry looks after the cap.
std::uint64_t ChunkReader::DecodingBytes(const ShardedTree& tree, const ShardSlot& slot,
                                         const Bytes& stored) const {
  if (tree.shards().format().stored_is_plain()) return 0;
  if (const std::uint64_t size = tree.PlainSize(slot); size != 0) return size;
  if (stored.size() < kTrailerBytes) return stored.size();
  return PlausibleGzipSize(stored.span().last(kTrailerBytes), stored.size())
      .value_or(max_chunk_bytes_);
}

Result<std::shared_ptr<const ChunkReader::DecodedChunk>> ChunkReader::Decoded(
    ShardedTree& tree, const ShardSlot& slot, const ShardGenerationPtr& generation,
    const ByteRange& entry) {
  const CacheKey key = KeyOf(tree, slot, generation);
  const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
    if (entry.size > max_chunk_bytes_) {
      return TooLargeToDecode(generation->key + ": a stored chunk", entry.size);
    }
    UNSHARD_ASSIGN_OR_RETURN(const ByteGate::Pass reading, RoomToRead(tree, entry.size));
    counters_->data_reads.fetch_add(1, std::memory_order_relaxed);
    UNSHARD_ASSIGN_OR_RETURN(Bytes stored, ReadChunk(tree, slot, generation, entry));
    // Once it is read: no request of a store is held up by what is decoded.
    UNSHARD_ASSIGN_OR_RETURN(const ByteGate::Pass room,
                             decoding_.Enter(DecodingBytes(tree, slot, stored), CallerDeadline()));
    auto plain = tree.shards().format().DecodeEntry(stored, max_chunk_bytes_);
    if (!plain) {
      Error error = InShard(plain.error(), *generation);
      const bool damaged = error.code == ErrorCode::kDataLoss;
      if (damaged && tree.shards().CountsAsChanged(*generation)) error.code = ErrorCode::kConflict;
      return tl::unexpected<Error>(std::move(error));
    }
    counters_->chunks_decoded.fetch_add(1, std::memory_order_relaxed);
    auto chunk = std::make_shared<DecodedChunk>();
    chunk->plain = *std::move(plain);
    if (stored.size() >= kTrailerBytes && !tree.shards().format().stored_is_plain()) {
      const auto announced = PlausibleGzipSize(stored.span().last(kTrailerBytes), stored.size());
      chunk->trailer_lies = announced && *announced != chunk->plain.size();
    }
    if (chunk->trailer_lies) trailers_lie_.store(true, std::memory_order_relaxed);
    return ByteBudgetCache::Loaded{chunk, chunk->plain.size() + sizeof(DecodedChunk)};
  };
  UNSHARD_ASSIGN_OR_RETURN(const auto value, decoded_->Get(key, CallerDeadline(), load));
  return std::static_pointer_cast<const DecodedChunk>(value);
}

Status ChunkReader::CheckAnnouncedSize(const ShardGeneration& generation, const ShardSlot& slot,
                                       const DecodedChunk& decoded) {
  if (!decoded.trailer_lies || !trailers_used_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  if (corrected_.size() >= kMaxCorrected) corrected_.clear();
  if (!corrected_.emplace(generation.key, slot.slot).second) return {};
  return Fail(ErrorCode::kConflict, generation.key,
              ": a gzip file of several members announced a wrong size; it has ",
              decoded.plain.size(), " bytes: open the file again");
}

bool ChunkReader::ExpectsRead() {
  if (unread_lookups_.load(std::memory_order_relaxed) >= kUnreadLookups) return false;
  unread_lookups_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void ChunkReader::PrefetchSweep(const ShardedTree& tree, const ShardGeneration& generation,
                                const ByteRange& entry) {
  if (reads_whole_ || tree.shards().format().has_outer_codecs()) return;
  const ReadAhead::Shard shard{tree.ordinal(), generation.shard, generation.serial};
  const ByteRange ahead = read_ahead_.Note(shard, entry, generation.object->info().size);
  if (ahead.size != 0) generation.object->Prefetch(ahead);
}

Result<Bytes> ChunkReader::ReadChunk(const ShardedTree& tree, const ShardSlot& slot,
                                     const ShardGenerationPtr& generation, const ByteRange& range) {
  const bool may_sweep =
      reads_whole_ && !tree.shards().format().has_outer_codecs() && !tree.is_mesh();
  if (may_sweep) return sweeps_.Read(tree, slot, generation, range, CallerDeadline());
  return tree.shards().ReadStored(generation, range, CallerDeadline());
}

// Ranges that begin at the same byte have the same bytes, as far as they go.
CacheKey ChunkReader::KeyOf(const ShardedTree& tree, const ShardGenerationPtr& generation,
                            const ByteRange& range) const {
  return {fetched_owner_ + tree.ordinal() * std::uint64_t{0x100000000}, generation->shard,
          generation->serial, range.begin};
}

Result<FilePiece> ChunkReader::ReadVerbatim(ShardedTree& tree, const ShardSlot& slot,
                                            const ShardGenerationPtr& generation,
                                            const ByteRange& whole, const ByteRange& range) {
  if (IsFetchedWhole(tree, whole)) {
    UNSHARD_ASSIGN_OR_RETURN(const auto chunk, Fetched(tree, slot, generation, whole));
    if (chunk->plain.size() == whole.size) {
      if (range == whole) decoded_->Erase(KeyOf(tree, generation, whole));
      return FilePiece(chunk->plain.Slice(range.begin - whole.begin, range.size));
    }
  }
  counters_->data_reads.fetch_add(1, std::memory_order_relaxed);
  if (auto slice = tree.shards().SliceStored(generation, range))
    return FilePiece(*std::move(slice));
  UNSHARD_ASSIGN_OR_RETURN(Bytes bytes,
                           tree.shards().ReadStored(generation, range, CallerDeadline()));
  return FilePiece(std::move(bytes));
}

Result<FilePiece> ChunkReader::Read(ShardedTree& tree, const ChunkRef& chunk,
                                    const ShardGenerationPtr& generation, std::uint64_t offset,
                                    std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const auto entry, Entry(tree, chunk.slot, generation));
  if (!entry) {
    return Fail(ErrorCode::kConflict, generation->key, ": the chunk is no longer in this shard");
  }
  return ReadEntry(tree, chunk, generation, *entry, offset, size);
}

Result<FilePiece> ChunkReader::ReadFound(ShardedTree& tree, const ChunkRef& chunk,
                                         const ChunkFacts& facts, std::uint64_t offset,
                                         std::uint64_t size) {
  const ShardGenerationPtr generation = ShardGenerationOf(facts.generation);
  // What is known of fragments is their own range, and not the entry, which is that of the
  // manifest.
  if (chunk.part == ChunkPart::kFragments) return Read(tree, chunk, generation, offset, size);
  return ReadEntry(tree, chunk, generation, facts.stored, offset, size);
}

Result<FilePiece> ChunkReader::ReadEntry(ShardedTree& tree, const ChunkRef& chunk,
                                         const ShardGenerationPtr& generation,
                                         const ByteRange& entry, std::uint64_t offset,
                                         std::uint64_t size) {
  if (entry == kDamagedRange) return tl::unexpected<Error>(DamagedEntry(*generation));
  if (unread_lookups_.load(std::memory_order_relaxed) != 0) unread_lookups_.store(0);
  if (offset == 0) PrefetchSweep(tree, *generation, entry);
  UNSHARD_ASSIGN_OR_RETURN(const auto verbatim, VerbatimRange(tree, chunk, generation, entry));
  if (verbatim) {
    const std::uint64_t begin = std::min(offset, verbatim->size);
    const ByteRange range{verbatim->begin + begin, std::min(size, verbatim->size - begin)};
    if (range.size == 0) return FilePiece(Bytes());
    return ReadVerbatim(tree, chunk.slot, generation, *verbatim, range);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto decoded, Decoded(tree, chunk.slot, generation, entry));
  UNSHARD_RETURN_IF_ERROR(CheckAnnouncedSize(*generation, chunk.slot, *decoded));
  const Bytes& plain = decoded->plain;
  const std::uint64_t expected = tree.PlainSize(chunk.slot);
  if (expected != 0 && plain.size() != expected) {
    return Fail(ErrorCode::kDataLoss, generation->key, ": a raw chunk has ", plain.size(),
                " bytes, expected ", expected);
  }
  // The page cache holds what the kernel has read: a second copy would only take memory.
  if (offset == 0 && size >= plain.size()) decoded_->Erase(KeyOf(tree, chunk.slot, generation));
  const std::uint64_t begin = std::min<std::uint64_t>(offset, plain.size());
  return FilePiece(plain.Slice(begin, std::min<std::uint64_t>(size, plain.size() - begin)));
}

}  // namespace unshard
