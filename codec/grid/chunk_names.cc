#include "codec/grid/chunk_names.h"

#include <utility>

namespace unshard {
namespace {

constexpr std::string_view kGzipSuffix = ".gz";
constexpr ChunkPart kOneFile[] = {ChunkPart::kPlain};

class GzipNames final : public ChunkNames {
 public:
  explicit GzipNames(std::unique_ptr<const ChunkNames> plain) : plain_(std::move(plain)) {}

  NameMeaning Parse(const GridDirectory& in, std::string_view name) const override {
    NameMeaning meaning = plain_->Parse(in, name);
    if (meaning.kind == NameKind::kChunk || !name.ends_with(kGzipSuffix)) return meaning;
    NameMeaning stored = plain_->Parse(in, name.substr(0, name.size() - kGzipSuffix.size()));
    if (stored.kind != NameKind::kChunk) return meaning;
    stored.chunk.part = ChunkPart::kStored;
    return stored;
  }

  std::string Path(const ChunkFile& chunk) const override {
    std::string path = plain_->Path(chunk);
    if (chunk.part == ChunkPart::kStored) path += kGzipSuffix;
    return path;
  }
  using ChunkNames::Path;
  std::span<const ChunkPart> parts() const override { return plain_->parts(); }

 private:
  const std::unique_ptr<const ChunkNames> plain_;
};

}  // namespace

std::span<const ChunkPart> ChunkNames::parts() const { return kOneFile; }

std::unique_ptr<const ChunkNames> WithGzipNames(std::unique_ptr<const ChunkNames> names) {
  return std::make_unique<GzipNames>(std::move(names));
}

}  // namespace unshard
