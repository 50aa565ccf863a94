#include "store/chunks/sharded_chunks.h"

#include "store/chunks/sharded_tree.h"
#include "store/object/key.h"

namespace unshard {
namespace {

bool IsSameVersion(const ShardGeneration& a, const ShardGeneration& b) {
  return a.object && b.object && a.object->info().generation == b.object->info().generation;
}

}  // namespace

ChunkGeneration GenerationOf(const ShardGenerationPtr& generation) {
  if (!generation) return {};
  return {generation->count, generation->modified, generation};
}

ShardGenerationPtr ShardGenerationOf(const ChunkGeneration& generation) {
  return std::static_pointer_cast<const ShardGeneration>(generation.lease);
}

Result<ChunkGeneration> ShardedChunks::Current(const ChunkRef& chunk, const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto generation,
                           tree_.shards().Current(chunk.slot.shard, deadline));
  return GenerationOf(generation);
}

std::optional<ChunkGeneration> ShardedChunks::Find(const ChunkRef& chunk, std::uint32_t number) {
  const auto generation = tree_.shards().Find(chunk.slot.shard, number);
  if (!generation) return std::nullopt;
  return GenerationOf(generation);
}

void ShardedChunks::AddReference(const ChunkGeneration& generation) {
  tree_.shards().AddReference(ShardGenerationOf(generation));
}

void ShardedChunks::DropReferences(const ChunkRef& chunk, std::uint32_t number,
                                   std::uint64_t references) {
  tree_.shards().DropReferences(chunk.slot.shard, number, references);
}

Result<std::optional<ChunkFacts>> ShardedChunks::Latest(const ChunkRef& chunk) {
  return reader_->Find(tree_, chunk);
}

Result<std::optional<ChunkFacts>> ShardedChunks::LatestIn(const ChunkRef& chunk,
                                                          const ChunkGeneration& generation) {
  return reader_->FindIn(tree_, chunk, ShardGenerationOf(generation));
}

bool ShardedChunks::SizeIsFree(const ChunkRef& chunk) const {
  return !reader_->reads_whole() && ChunkReader::SizeIsFree(tree_, chunk);
}

Result<std::optional<ChunkLocation>> ShardedChunks::Locate(const ChunkRef& chunk,
                                                           const ChunkGeneration& generation) {
  const ShardGenerationPtr shard = ShardGenerationOf(generation);
  UNSHARD_ASSIGN_OR_RETURN(const auto stored, reader_->FindStored(tree_, chunk, shard));
  if (!stored) return std::nullopt;
  return ChunkLocation{shard->key, *stored, chunk.slot.slot, shard->object->info().generation.tag};
}

// With outer codecs an entry is no range of the stored object: there is nothing to prefetch. Where
// replaced versions are gone, the look-up has read the chunk.
std::optional<ObjectRange> ShardedChunks::NextRead(const ChunkFacts& facts) {
  if (tree_.shards().format().has_outer_codecs() || reader_->reads_whole()) return std::nullopt;
  if (facts.stored == kDamagedRange || !reader_->ExpectsRead()) return std::nullopt;
  return ObjectRange{ShardGenerationOf(facts.generation)->object, facts.stored};
}

Result<FilePiece> ShardedChunks::Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                                      std::uint64_t offset, std::uint64_t size) {
  return reader_->Read(tree_, chunk, ShardGenerationOf(generation), offset, size);
}

Status ShardedChunks::Load(const ChunkRef& chunk, const ChunkFacts& facts) {
  return reader_->Load(tree_, chunk, facts);
}

Result<FilePiece> ShardedChunks::ReadFound(const ChunkRef& chunk, const ChunkFacts& facts,
                                           std::uint64_t offset, std::uint64_t size) {
  return reader_->ReadFound(tree_, chunk, facts, offset, size);
}

Status ShardedChunks::ForEachPresent(const ChunkGeneration& generation,
                                     const ChunkVisitor& visitor) {
  return tree_.ForEachPresent(ShardGenerationOf(generation), visitor);
}

ChunkChanges ShardedChunks::Invalidate(const std::string& key) {
  const ShardSet::Changes in_shards = tree_.shards().Invalidate(key);
  ChunkChanges found{{}, in_shards.up_to_date};
  for (const ShardSet::Change& change : in_shards.changes) {
    ChunkChange one{change.shard, {}, change.before && change.after, false};
    one.came_or_went =
        (change.before && change.before->object) != (change.after && change.after->object);
    one.replaced = !change.before || !change.after || !IsSameVersion(*change.before, *change.after);
    for (const ShardGenerationPtr& generation : change.between) {
      one.generations.push_back(GenerationOf(generation));
    }
    for (const ShardGenerationPtr& generation : {change.before, change.after}) {
      if (generation) one.generations.push_back(GenerationOf(generation));
    }
    found.changes.push_back(std::move(one));
  }
  return found;
}

bool ShardedChunks::has_forgotten() const { return tree_.shards().has_forgotten(); }

ChunkStoreCounters ShardedChunks::counters() const {
  const ShardSetCounters counters = tree_.shards().counters();
  return {counters.opens, counters.index_reads, counters.open_shards};
}

bool ShardedChunks::encodes() const { return !tree_.shards().format().stored_is_plain(); }

Result<Bytes> ShardedChunks::Encode(Bytes plain) const {
  return tree_.shards().format().EncodeEntry(std::move(plain));
}

std::optional<std::string> ShardedChunks::ReplacedKey(const ChunkRef& chunk) const {
  return JoinPath(tree_.directory(), tree_.shards().keys().Key(chunk.slot.shard));
}

}  // namespace unshard
