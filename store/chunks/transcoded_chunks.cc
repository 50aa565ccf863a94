#include "store/chunks/transcoded_chunks.h"

#include <algorithm>
#include <utility>

#include "store/chunks/chunk_content.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// The kinds of versions in the cache.
enum CachedAs : std::uint64_t { kStored, kWritten };

}  // namespace

Result<ChunkGeneration> TranscodedChunks::Current(const ChunkRef& chunk, const Deadline& deadline) {
  return source().Current(chunk, deadline);
}

std::optional<ChunkGeneration> TranscodedChunks::Find(const ChunkRef& chunk, std::uint32_t number) {
  return source().Find(chunk, number);
}

void TranscodedChunks::AddReference(const ChunkGeneration& generation) {
  source().AddReference(generation);
}

void TranscodedChunks::DropReferences(const ChunkRef& chunk, std::uint32_t number,
                                      std::uint64_t references) {
  source().DropReferences(chunk, number, references);
}

Result<std::optional<ChunkFacts>> TranscodedChunks::Latest(const ChunkRef& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(auto stored, source().Latest(chunk));
  if (!stored && !mapping().writes_absent()) return std::nullopt;
  ChunkGeneration generation;
  if (stored) {
    generation = stored->generation;
  } else {
    UNSHARD_ASSIGN_OR_RETURN(generation, source().Current(chunk, CallerDeadline()));
  }
  return Present(chunk, std::move(stored), generation);
}

Result<std::optional<ChunkFacts>> TranscodedChunks::LatestIn(const ChunkRef& chunk,
                                                             const ChunkGeneration& generation) {
  UNSHARD_ASSIGN_OR_RETURN(auto stored, source().LatestIn(chunk, generation));
  return Present(chunk, std::move(stored), generation);
}

Result<std::optional<ChunkFacts>> TranscodedChunks::Present(const ChunkRef& chunk,
                                                            std::optional<ChunkFacts> stored,
                                                            const ChunkGeneration& generation) {
  const BlockForm form = mapping().form();
  if (!stored && !mapping().writes_absent()) return std::nullopt;
  if (stored && form == BlockForm::kCopy) return stored;
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  ChunkFacts facts = stored.value_or(ChunkFacts{0, {}, generation});
  if (stored && form == BlockForm::kAddHeader) {
    facts.size += mapping().HeaderOf(cell).size();
    return facts;
  }
  if (stored && form == BlockForm::kStripHeader) {
    UNSHARD_ASSIGN_OR_RETURN(const bool plain, HasPlainHeader({chunk, generation}, cell));
    if (plain) {
      facts.size -= mapping().HeaderOf(cell).size();
      return facts;
    }
  }
  if (const auto size = mapping().EncodedSize(cell)) {
    facts.size = *size;
    return facts;
  }
  UNSHARD_ASSIGN_OR_RETURN(const Bytes encoded, Encoded({chunk, generation}, cell));
  facts.size = encoded.size();
  return facts;
}

Result<bool> TranscodedChunks::HasPlainHeader(const Version& version, const GridCell& cell) {
  const ByteVector expected = mapping().HeaderOf(cell);
  UNSHARD_ASSIGN_OR_RETURN(const Bytes found, ReadStored(version, 0, expected.size()));
  return std::equal(expected.begin(), expected.end(), found.span().begin(), found.span().end());
}

bool TranscodedChunks::SizeIsFree(const ChunkRef& chunk) const {
  const auto cell = CellOf(chunk);
  if (!cell || !source().SizeIsFree(chunk)) return false;
  switch (mapping().form()) {
    case BlockForm::kCopy:
    case BlockForm::kAddHeader:
      return true;
    case BlockForm::kStripHeader:
      return false;
    case BlockForm::kRepack:
    case BlockForm::kTranscode:
      break;
  }
  return mapping().EncodedSize(*cell).has_value();
}

Result<std::optional<ChunkLocation>> TranscodedChunks::Locate(const ChunkRef& chunk,
                                                              const ChunkGeneration& generation) {
  return source().Locate(chunk, generation);
}

std::optional<ObjectRange> TranscodedChunks::NextRead(const ChunkFacts& facts) {
  if (facts.stored.size == 0) return std::nullopt;
  return source().NextRead(facts);
}

Result<FilePiece> TranscodedChunks::Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                                         std::uint64_t offset, std::uint64_t size) {
  const Version version{chunk, generation};
  const BlockForm form = mapping().form();
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  bool encodes = form == BlockForm::kTranscode;
  if (!encodes && mapping().writes_absent()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto stored, source().LatestIn(chunk, generation));
    encodes = !stored;
  }
  if (!encodes && form == BlockForm::kStripHeader) {
    UNSHARD_ASSIGN_OR_RETURN(const bool plain, HasPlainHeader(version, cell));
    encodes = !plain;
  }
  if (encodes) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes encoded, Encoded(version, cell));
    return ClipBytes(encoded, offset, size);
  }
  if (form == BlockForm::kAddHeader) return ReadBehindHeader(version, cell, offset, size);
  if (form == BlockForm::kStripHeader) offset += mapping().HeaderOf(cell).size();
  return source().Read(chunk, generation, offset, size);
}

Result<FilePiece> TranscodedChunks::ReadBehindHeader(const Version& version, const GridCell& cell,
                                                     std::uint64_t offset, std::uint64_t size) {
  const ByteVector header = mapping().HeaderOf(cell);
  if (offset >= header.size()) {
    return source().Read(version.chunk, version.generation, offset - header.size(), size);
  }
  const std::uint64_t of_header = std::min<std::uint64_t>(size, header.size() - offset);
  const auto begin = header.begin() + static_cast<std::ptrdiff_t>(offset);
  ByteVector bytes(begin, begin + static_cast<std::ptrdiff_t>(of_header));
  UNSHARD_ASSIGN_OR_RETURN(const Bytes rest, ReadStored(version, 0, size - of_header));
  bytes.insert(bytes.end(), rest.span().begin(), rest.span().end());
  return FilePiece(Bytes(std::move(bytes)));
}

Result<FilePiece> TranscodedChunks::ReadFound(const ChunkRef& chunk, const ChunkFacts& facts,
                                              std::uint64_t offset, std::uint64_t size) {
  if (mapping().form() == BlockForm::kCopy && facts.stored.size != 0) {
    return source().ReadFound(chunk, facts, offset, size);
  }
  return Read(chunk, facts.generation, offset, size);
}

// Where replaced versions are gone, an open file has to have its bytes: they are encoded now.
Status TranscodedChunks::Load(const ChunkRef& chunk, const ChunkFacts& facts) {
  if (facts.stored.size != 0) UNSHARD_RETURN_IF_ERROR(source().Load(chunk, facts));
  if (mapping().form() != BlockForm::kTranscode) return {};
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  const auto encoded = Encoded({chunk, facts.generation}, cell);
  // Damage is that of the chunk's bytes: its reader meets it.
  if (encoded || encoded.error().code == ErrorCode::kDataLoss) return {};
  return tl::unexpected<Error>(encoded.error());
}

Result<Bytes> TranscodedChunks::ReadStored(const Version& version, std::uint64_t offset,
                                           std::uint64_t size) {
  ByteVector all;
  while (all.size() < size) {
    UNSHARD_ASSIGN_OR_RETURN(
        FilePiece piece,
        source().Read(version.chunk, version.generation, offset + all.size(), size - all.size()));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, InMemory(std::move(piece)));
    if (bytes.empty()) break;
    if (all.empty() && bytes.size() == size) return bytes;
    all.insert(all.end(), bytes.span().begin(), bytes.span().end());
  }
  return Bytes(std::move(all));
}

Result<Bytes> TranscodedChunks::Encoded(const Version& version, const GridCell& cell) {
  const ShardGenerationPtr shard = ShardGenerationOf(version.generation);
  return Cached(cell, shard ? shard->serial : 0, kStored,
                [&] { return EncodeAnew(version, cell); });
}

Result<Bytes> TranscodedChunks::EncodeAnew(const Version& version, const GridCell& cell) {
  UNSHARD_RETURN_IF_ERROR(FitsInMemory());
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, source().LatestIn(version.chunk, version.generation));
  std::optional<Bytes> stored;
  if (facts) {
    if (facts->size > max_chunk_bytes()) {
      const std::string path =
          JoinPath(stored_tree()->directory(), stored_tree()->Path(version.chunk));
      return TooLargeToDecode(path + ": a stored chunk", facts->size);
    }
    UNSHARD_ASSIGN_OR_RETURN(stored, ReadStored(version, 0, facts->size));
  }
  auto encoded = mapping().FromChunk(stored, cell);
  if (!encoded) return InChunk(std::move(encoded).error(), version.chunk);
  return Bytes(*std::move(encoded));
}

Result<Bytes> TranscodedChunks::EncodeBytes(const ContentPtr& stored, const GridCell& cell) const {
  UNSHARD_RETURN_IF_ERROR(FitsInMemory());
  std::optional<Bytes> bytes;
  if (stored) {
    UNSHARD_ASSIGN_OR_RETURN(bytes, ReadAll(*stored, max_chunk_bytes()));
  }
  UNSHARD_ASSIGN_OR_RETURN(ByteVector encoded, mapping().FromChunk(bytes, cell));
  return Bytes(std::move(encoded));
}

Result<ContentPtr> TranscodedChunks::PresentWritten(const ChunkRef& chunk, const ContentPtr& stored,
                                                    std::uint64_t version) {
  if (!stored && !mapping().writes_absent()) return nullptr;
  if (stored && mapping().form() == BlockForm::kCopy) return stored;
  UNSHARD_ASSIGN_OR_RETURN(const GridCell cell, CellIn(chunk));
  const auto encode = [&]() -> Result<Bytes> {
    auto encoded = EncodeBytes(stored, cell);
    if (!encoded) return InChunk(std::move(encoded).error(), chunk);
    return encoded;
  };
  UNSHARD_ASSIGN_OR_RETURN(Bytes presented, Cached(cell, version, kWritten, encode));
  return MakeBytesContent(std::move(presented));
}

std::optional<std::uint64_t> TranscodedChunks::SizeOfWritten(const ChunkRef& chunk,
                                                             std::uint64_t stored) const {
  const auto cell = CellOf(chunk);
  if (!cell) return std::nullopt;
  switch (mapping().form()) {
    case BlockForm::kCopy:
      return stored;
    case BlockForm::kAddHeader:
      return stored + mapping().HeaderOf(*cell).size();
    case BlockForm::kStripHeader:
      return std::nullopt;
    case BlockForm::kRepack:
    case BlockForm::kTranscode:
      break;
  }
  return mapping().EncodedSize(*cell);
}

}  // namespace unshard
