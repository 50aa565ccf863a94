#include "store/chunks/chunk_content.h"

#include <algorithm>
#include <utility>

#include "codec/core/checksum.h"
#include "store/chunks/sharded_chunks.h"
#include "store/chunks/sharded_tree.h"

namespace unshard {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

class StoredContent final : public ChunkContent {
 public:
  StoredContent(std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk, const ChunkFacts& facts)
      : tree_(std::move(tree)), chunk_(chunk), facts_(facts) {}
  std::uint64_t size() const override { return facts_.size; }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    return tree_->chunks().ReadFound(chunk_, facts_, offset, size);
  }
  std::optional<Generation> stored_in() const override {
    const bool is_plain = chunk_.part == ChunkPart::kPlain;
    if (!is_plain || dynamic_cast<const ShardedTree*>(tree_.get()) == nullptr) return std::nullopt;
    return ShardGenerationOf(facts_.generation)->object->info().generation;
  }

 private:
  const std::shared_ptr<ChunkTree> tree_;
  const ChunkRef chunk_;
  const ChunkFacts facts_;
};

class FileContent final : public ChunkContent {
 public:
  FileContent(std::shared_ptr<File> file, std::uint64_t size)
      : file_(std::move(file)), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    const std::uint64_t begin = std::min(offset, size_);
    const ByteRange range{begin, std::min(size, size_ - begin)};
    if (range.size == 0) return FilePiece(Bytes());
    if (file_->descriptor() >= 0) return FilePiece(FileSlice{file_->descriptor(), range, file_});
    ByteVector bytes(range.size);
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, file_->Read(range.begin, bytes));
    bytes.resize(read);
    return FilePiece(Bytes(std::move(bytes)));
  }

 private:
  const std::shared_ptr<File> file_;
  const std::uint64_t size_;
};

class BytesContent final : public ChunkContent {
 public:
  explicit BytesContent(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool in_memory() const override { return true; }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    const std::uint64_t begin = std::min<std::uint64_t>(offset, bytes_.size());
    return FilePiece(bytes_.Slice(begin, std::min<std::uint64_t>(size, bytes_.size() - begin)));
  }

 private:
  const Bytes bytes_;
};

class TextContent final : public ChunkContent {
 public:
  explicit TextContent(std::shared_ptr<const std::string> text) : text_(std::move(text)) {}
  std::uint64_t size() const override { return text_->size(); }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    const std::uint64_t begin = std::min<std::uint64_t>(offset, text_->size());
    const ByteSpan piece = AsBytes(std::string_view(*text_).substr(begin, size));
    return FilePiece(Bytes(ByteVector(piece.begin(), piece.end())));
  }

 private:
  const std::shared_ptr<const std::string> text_;
};

}  // namespace

ContentPtr MakeStoredContent(std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk,
                             const ChunkFacts& facts) {
  return std::make_shared<StoredContent>(std::move(tree), chunk, facts);
}

Result<ContentPtr> OpenStoredContent(std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk,
                                     const ChunkFacts& facts) {
  UNSHARD_ASSIGN_OR_RETURN(auto held, tree->chunks().Hold(chunk, facts));
  if (held) return MakeBytesContent(*std::move(held));
  return MakeStoredContent(std::move(tree), chunk, facts);
}

ContentPtr MakeFileContent(std::shared_ptr<File> file, std::uint64_t size) {
  return std::make_shared<FileContent>(std::move(file), size);
}

ContentPtr MakeBytesContent(Bytes bytes) {
  return std::make_shared<BytesContent>(std::move(bytes));
}

ContentPtr MakeTextContent(std::shared_ptr<const std::string> text) {
  return std::make_shared<TextContent>(std::move(text));
}

Result<Bytes> InMemory(FilePiece piece) {
  if (auto* bytes = std::get_if<Bytes>(&piece)) return std::move(*bytes);
  const auto& slice = std::get<FileSlice>(piece);
  ByteVector bytes(slice.range.size);
  UNSHARD_RETURN_IF_ERROR(ReadSlice(slice, bytes));
  return Bytes(std::move(bytes));
}

Status ForEachPiece(ChunkContent& content,
                    const std::function<Status(std::uint64_t offset, ByteSpan)>& take) {
  for (std::uint64_t offset = 0; offset < content.size();) {
    const std::uint64_t wanted = std::min(kPiece, content.size() - offset);
    UNSHARD_ASSIGN_OR_RETURN(FilePiece piece, content.Read(offset, wanted));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, InMemory(std::move(piece)));
    if (bytes.empty()) {
      return Fail(ErrorCode::kDataLoss, "expected ", content.size(), " bytes, found ", offset);
    }
    UNSHARD_RETURN_IF_ERROR(take(offset, bytes.span()));
    offset += bytes.size();
  }
  return {};
}

Result<Bytes> ReadAll(ChunkContent& content, std::uint64_t max_bytes) {
  if (content.size() > max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, "expected at most ", max_bytes, " bytes, found ",
                content.size());
  }
  ByteVector all;
  all.reserve(content.size());
  UNSHARD_RETURN_IF_ERROR(ForEachPiece(content, [&](std::uint64_t, ByteSpan piece) {
    all.insert(all.end(), piece.begin(), piece.end());
    return Status{};
  }));
  return Bytes(std::move(all));
}

Result<std::uint32_t> ChecksumOf(ChunkContent& content) {
  std::uint32_t sum = 0;
  UNSHARD_RETURN_IF_ERROR(ForEachPiece(content, [&](std::uint64_t, ByteSpan piece) {
    sum = ExtendChecksum(sum, piece);
    return Status{};
  }));
  return sum;
}

}  // namespace unshard
