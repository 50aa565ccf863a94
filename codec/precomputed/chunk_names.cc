#include "codec/precomputed/chunk_names.h"

#include <utility>

#include "codec/grid/chunk_key.h"

namespace unshard {
namespace {

using Names = ShardedDirectory::Names;

constexpr ChunkPart kMeshFiles[] = {ChunkPart::kPlain, ChunkPart::kFragments};

class PrecomputedNames final : public ChunkNames {
 public:
  explicit PrecomputedNames(const ShardedDirectory& directory)
      : names_(directory.names), grid_(directory.grid), grid_shape_(directory.grid_shape) {}

  NameMeaning Parse(const GridDirectory&, std::string_view name) const override {
    ChunkFile chunk;
    switch (ParseInto(chunk, name)) {
      case NameMatch::kChunk:
        return {NameKind::kChunk, {}, std::move(chunk)};
      case NameMatch::kNoChunk:
        return {NameKind::kNoChunk};
      case NameMatch::kOther:
        return {};
    }
    return {};
  }

  std::string Path(const ChunkFile& chunk) const override {
    switch (names_) {
      case Names::kChunkRanges:
        return ChunkRangeName(grid_, chunk.cell);
      case Names::kCellCoordinates:
        return CellCoordinatesName(chunk.cell);
      case Names::kIds:
        return std::to_string(chunk.id);
      case Names::kMeshes:
        return MeshFileName(chunk.id, chunk.part);
    }
    return {};
  }
  using ChunkNames::Path;

  std::span<const ChunkPart> parts() const override {
    return names_ == Names::kMeshes ? kMeshFiles : ChunkNames::parts();
  }

 private:
  NameMatch ParseInto(ChunkFile& chunk, std::string_view name) const {
    switch (names_) {
      case Names::kChunkRanges:
        return ParseChunkRangeName(grid_, name, chunk.cell);
      case Names::kCellCoordinates:
        return ParseCellCoordinatesName(grid_shape_, name, chunk.cell);
      case Names::kIds:
        return ParseIdName(name, chunk.id);
      case Names::kMeshes:
        return ParseMeshFileName(name, chunk.id, chunk.part);
    }
    return NameMatch::kOther;
  }

  const Names names_;
  const ChunkGrid grid_;
  const std::vector<std::uint64_t> grid_shape_;
};

}  // namespace

std::unique_ptr<const ChunkNames> MakePrecomputedNames(const ShardedDirectory& directory) {
  auto names = std::make_unique<const PrecomputedNames>(directory);
  const bool gzip_names =
      directory.sharding.data_encoding == ShardEncoding::kGzip && directory.names != Names::kMeshes;
  if (gzip_names) return WithGzipNames(std::move(names));
  return names;
}

}  // namespace unshard
