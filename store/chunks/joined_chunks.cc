#include "store/chunks/joined_chunks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/object/key.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

// Others may commit one of the chunks while all of them are looked up, each time.
constexpr int kJoinTries = 64;

}  // namespace

std::vector<WrittenVersionPtr> JoinedChunks::VersionsOf(const std::vector<ChunkRef>& chunks) const {
  if (!written_) return std::vector<WrittenVersionPtr>(chunks.size());
  std::vector<ChunkId> ids;
  for (const ChunkRef& chunk : chunks) ids.push_back(ChunkId::Of(*stored_tree(), chunk));
  return written_->FindAll(ids);
}

Result<ChunkGeneration> JoinedChunks::Current(const ChunkRef& chunk, const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  const std::vector<ChunkRef> chunks = StoredChunks(chunk);
  for (int i = 0; i < kJoinTries; ++i) {
    const std::vector<WrittenVersionPtr> versions = VersionsOf(chunks);
    std::vector<JoinedVersion::Part> parts;
    timespec modified{};
    for (std::size_t at = 0; at < chunks.size(); ++at) {
      JoinedVersion::Part& part = parts.emplace_back();
      part.chunk = chunks[at];
      timespec changed{};
      if (const WrittenVersionPtr& version = versions[at]) {
        part.written = version->number;
        part.removed = version->removed;
        part.version = version;
        changed = written_->ModifiedOf(*version);
      } else {
        UNSHARD_ASSIGN_OR_RETURN(part.stored, source().Current(part.chunk, deadline));
        changed = part.stored.modified;
      }
      if (IsLater(changed, modified)) modified = changed;
    }
    // What was committed and published meanwhile may be in one of the shards and not in another.
    if (VersionsOf(chunks) != versions) continue;
    const auto position = LinearIndex(mapping().to_grid().grid_shape(), cell);
    return generations_.Of(position, std::move(parts), modified);
  }
  return Fail(ErrorCode::kConflict, stored_tree()->Path(chunk), ": its chunks keep changing");
}

std::optional<ChunkGeneration> JoinedChunks::Find(const ChunkRef&, std::uint32_t number) {
  return generations_.Find(number);
}

void JoinedChunks::AddReference(const ChunkGeneration& generation) {
  generations_.AddReference(generation);
}

void JoinedChunks::DropReferences(const ChunkRef&, std::uint32_t number, std::uint64_t references) {
  generations_.DropReferences(number, references);
}

Result<bool> JoinedChunks::IsPresent(const JoinedVersion::Part& part) const {
  if (part.written != 0) return !part.removed;
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, source().LatestIn(part.chunk, part.stored));
  return facts.has_value();
}

Result<std::optional<ChunkFacts>> JoinedChunks::Latest(const ChunkRef& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkGeneration generation, Current(chunk, CallerDeadline()));
  return LatestIn(chunk, generation);
}

Result<std::optional<ChunkFacts>> JoinedChunks::LatestIn(const ChunkRef& chunk,
                                                         const ChunkGeneration& generation) {
  const JoinedVersionPtr version = JoinedVersionOf(generation);
  bool present = mapping().writes_absent();
  for (auto part = version->parts.begin(); !present && part != version->parts.end(); ++part) {
    UNSHARD_ASSIGN_OR_RETURN(present, IsPresent(*part));
  }
  if (!present) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  ChunkFacts facts{0, {}, generation};
  if (const auto size = mapping().EncodedSize(cell)) {
    facts.size = *size;
    return facts;
  }
  UNSHARD_ASSIGN_OR_RETURN(const Bytes encoded, Encoded(chunk, generation));
  facts.size = encoded.size();
  return facts;
}

bool JoinedChunks::SizeIsFree(const ChunkRef& chunk) const {
  const auto cell = CellOf(chunk);
  return cell && mapping().EncodedSize(*cell) && source().SizeIsFree(chunk);
}

Result<std::optional<ChunkLocation>> JoinedChunks::Locate(const ChunkRef&,
                                                          const ChunkGeneration& generation) {
  for (const JoinedVersion::Part& part : JoinedVersionOf(generation)->parts) {
    if (part.written != 0) continue;
    UNSHARD_ASSIGN_OR_RETURN(auto location, source().Locate(part.chunk, part.stored));
    if (location) return location;
  }
  return std::nullopt;
}

std::optional<ObjectRange> JoinedChunks::NextRead(const ChunkFacts&) { return std::nullopt; }

Result<ContentPtr> JoinedChunks::ContentOf(const JoinedVersion::Part& part) const {
  if (part.removed) return nullptr;
  if (part.written == 0) {
    UNSHARD_ASSIGN_OR_RETURN(const auto facts, source().LatestIn(part.chunk, part.stored));
    return facts ? MakeStoredContent(stored_tree(), part.chunk, *facts) : nullptr;
  }
  if (const WrittenVersionPtr version = part.version.lock()) return current_.ContentOf(version);
  return Fail(ErrorCode::kConflict, "a later version has been written");
}

Result<Bytes> JoinedChunks::EncodeAnew(const JoinedVersion& version, const GridCell& cell) const {
  UNSHARD_RETURN_IF_ERROR(FitsInMemory());
  std::size_t last = 0;  // for messages
  const auto read = [&](std::size_t at) -> Result<std::optional<Bytes>> {
    last = at;
    UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content, ContentOf(version.parts[at]));
    if (!content) return std::nullopt;
    return ReadAll(*content, max_chunk_bytes());
  };
  auto encoded = mapping().FromChunks(read, cell);
  if (!encoded) return InChunk(std::move(encoded).error(), version.parts[last].chunk);
  return Bytes(*std::move(encoded));
}

Result<Bytes> JoinedChunks::Encoded(const ChunkRef& chunk, const ChunkGeneration& generation) {
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  const JoinedVersionPtr version = JoinedVersionOf(generation);
  return Cached(cell, version->serial, 0, [&] { return EncodeAnew(*version, cell); });
}

Result<FilePiece> JoinedChunks::Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                                     std::uint64_t offset, std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const Bytes encoded, Encoded(chunk, generation));
  return ClipBytes(encoded, offset, size);
}

Status JoinedChunks::Load(const ChunkRef& chunk, const ChunkFacts& facts) {
  const auto encoded = Encoded(chunk, facts.generation);
  // Damage is that of the chunk's bytes: its reader meets it.
  if (encoded || encoded.error().code == ErrorCode::kDataLoss) return {};
  return tl::unexpected<Error>(encoded.error());
}

Result<std::optional<Bytes>> JoinedChunks::Hold(const ChunkRef& chunk, const ChunkFacts& facts) {
  const auto& parts = JoinedVersionOf(facts.generation)->parts;
  const bool committed =
      std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.written != 0; });
  if (!committed) return std::nullopt;
  auto encoded = Encoded(chunk, facts.generation);
  if (encoded) return std::optional<Bytes>(*std::move(encoded));
  if (encoded.error().code == ErrorCode::kDataLoss) return std::nullopt;
  return tl::unexpected<Error>(std::move(encoded).error());
}

}  // namespace unshard
