// The bytes of one version of a file, wherever they are: in a shard, in the spool, in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "store/chunks/chunk_tree.h"
#include "store/local/file_system.h"

namespace unshard {

// Immutable; thread-safe. Keeps its bytes readable for as long as it lives.
class ChunkContent {
 public:
  virtual ~ChunkContent() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Up to `size` bytes from `offset`, fewer only at the end.
  virtual Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) = 0;
  // Whether it takes memory for all its bytes for as long as it lives.
  [[nodiscard]] virtual bool in_memory() const { return false; }
  // The version of the shard that holds them, where they are the plain bytes of a stored chunk.
  [[nodiscard]] virtual std::optional<Generation> stored_in() const { return std::nullopt; }
};
using ContentPtr = std::shared_ptr<ChunkContent>;

// A chunk as one generation of its store has it.
ContentPtr MakeStoredContent(std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk,
                             const ChunkFacts& facts);
// The same for a file that is being opened, whose bytes stay. Fails as ChunkStore::Hold does.
Result<ContentPtr> OpenStoredContent(std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk,
                                     const ChunkFacts& facts);
// A file that is not written to any more.
ContentPtr MakeFileContent(std::shared_ptr<File> file, std::uint64_t size);
ContentPtr MakeBytesContent(Bytes bytes);
// The bytes of a text, which is shared.
ContentPtr MakeTextContent(std::shared_ptr<const std::string> text);

// The bytes of a piece; those of a file are read.
Result<Bytes> InMemory(FilePiece piece);
// All bytes in memory. Fails with kResourceExhausted where they are more than `max_bytes`.
Result<Bytes> ReadAll(ChunkContent& content, std::uint64_t max_bytes);
// The checksum of all bytes, read in pieces.
Result<std::uint32_t> ChecksumOf(ChunkContent& content);
// Calls `take` with pieces of the content in order, until it fails.
Status ForEachPiece(ChunkContent& content,
                    const std::function<Status(std::uint64_t offset, ByteSpan)>& take);

}  // namespace unshard
