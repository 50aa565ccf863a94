#include "store/chunks/current_chunks.h"

#include "store/chunks/presented_tree.h"
#include "store/chunks/sharded_chunks.h"

namespace unshard {
namespace {

// Other writers and publishes may change a chunk while it is read, each time.
constexpr int kTries = 8;

StoredChunkPrint PrintIn(const ChunkGeneration& generation, const ChunkFingerprint& fingerprint) {
  return {fingerprint, ShardGenerationOf(generation)->object->info().generation};
}

}  // namespace

Result<ContentPtr> CurrentChunks::Current(const std::shared_ptr<ChunkTree>& tree,
                                          const ChunkRef& chunk) const {
  for (int i = 1;; ++i) {
    const WrittenVersionPtr version = written_->Find(ChunkId::Of(*tree, chunk));
    if (!version) return Stored(tree, chunk);
    auto content = ContentIn(tree, chunk, version);
    if (content || content.error().code != ErrorCode::kConflict || i == kTries) return content;
  }
}

Result<ContentPtr> CurrentChunks::ContentOf(const WrittenVersionPtr& version) const {
  for (int i = 0; i < kTries; ++i) {
    const auto spooled = written_->SpooledOf(*version);
    if (!spooled) break;
    auto file = spooled->spool->Open(spooled->chunk);
    if (file) return MakeFileContent(*std::move(file), version->size);
    // A publish has discarded the file since SpooledOf: the shard has the bytes.
    if (file.error().code != ErrorCode::kNotFound) {
      return tl::unexpected<Error>(std::move(file).error());
    }
  }
  if (written_->Find(ChunkId::Of(*version->tree, version->chunk)) != version) {
    return Fail(ErrorCode::kConflict, "a later version has been written");
  }
  return Stored(version->tree, version->chunk);
}

Result<ContentPtr> CurrentChunks::ContentIn(const std::shared_ptr<ChunkTree>& tree,
                                            const ChunkRef& chunk,
                                            const WrittenVersionPtr& version) const {
  ContentPtr stored;
  if (!version->removed) {
    UNSHARD_ASSIGN_OR_RETURN(stored, ContentOf(version));
  }
  const auto presented = AsPresented(tree);
  if (!presented) return stored;
  return presented->transcoded().PresentWritten(chunk, stored, version->number);
}

Result<std::optional<std::uint64_t>> CurrentChunks::SizeIn(const std::shared_ptr<ChunkTree>& tree,
                                                           const ChunkRef& chunk,
                                                           const WrittenVersionPtr& version) const {
  const auto presented = AsPresented(tree);
  if (!presented && version->removed) return std::nullopt;
  if (!presented) return version->size;
  if (!version->removed) {
    if (const auto size = presented->transcoded().SizeOfWritten(chunk, version->size)) return size;
  }
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content, ContentIn(tree, chunk, version));
  if (!content) return std::nullopt;
  return content->size();
}

Result<ContentPtr> CurrentChunks::Stored(const std::shared_ptr<ChunkTree>& tree,
                                         const ChunkRef& chunk) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree->chunks().Latest(chunk));
  if (!facts) return nullptr;
  return OpenStoredContent(tree, chunk, *facts);
}

Result<StoredChunkPrint> CurrentChunks::StoredFingerprint(const std::shared_ptr<ChunkTree>& tree,
                                                          const ChunkRef& chunk) const {
  const auto read = [&]() -> Result<StoredChunkPrint> {
    UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree->chunks().Latest(chunk));
    if (!facts) return StoredChunkPrint{};
    const ContentPtr content = MakeStoredContent(tree, chunk, *facts);
    UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t sum, ChecksumOf(*content));
    return PrintIn(facts->generation, {false, content->size(), sum});
  };
  // A shard that another process replaces or overwrites meanwhile is read again: the commit that
  // waits for the fingerprint is not at fault.
  for (int i = 1;; ++i) {
    auto found = read();
    if (found || found.error().code != ErrorCode::kConflict || i == kTries) return found;
  }
}

Result<StoredChunkPrint> CurrentChunks::StoredVersion(const std::shared_ptr<ChunkTree>& tree,
                                                      const ChunkRef& chunk) const {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkGeneration generation,
                           tree->chunks().Current(chunk, CallerDeadline()));
  const auto stored = tree->chunks().Locate(chunk, generation);
  bool is_there = stored && *stored;
  if (!stored) {
    // A damaged index entry hides the place of a chunk, and not that there is one.
    if (stored.error().code != ErrorCode::kDataLoss) return tl::unexpected<Error>(stored.error());
    UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree->chunks().LatestIn(chunk, generation));
    is_there = facts.has_value();
  }
  if (!is_there) return StoredChunkPrint{};
  ChunkFingerprint unknown;
  unknown.unknown = true;
  return PrintIn(generation, unknown);
}

}  // namespace unshard
