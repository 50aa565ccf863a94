#include "codec/precomputed/chunk_names.h"

#include <utility>
#include <vector>

#include "codec/grid/chunk_key.h"

namespace unshard {
namespace {

NameMeaning Meaning(NameMatch match, ChunkFile chunk) {
  switch (match) {
    case NameMatch::kChunk:
      return {NameKind::kChunk, {}, std::move(chunk)};
    case NameMatch::kNoChunk:
      return {NameKind::kNoChunk};
    case NameMatch::kOther:
      return {};
  }
  return {};
}

// "0-64_0-64_0-64"
class RangeNames final : public ChunkNames {
 public:
  explicit RangeNames(const ChunkGrid& grid) : grid_(grid) {}
  NameMeaning Parse(const GridDirectory&, std::string_view name) const override {
    ChunkFile chunk;
    const NameMatch match = ParseChunkRangeName(grid_, name, chunk.cell);
    return Meaning(match, std::move(chunk));
  }
  std::string Path(const ChunkFile& chunk) const override {
    return ChunkRangeName(grid_, chunk.cell);
  }
  using ChunkNames::Path;

 private:
  const ChunkGrid grid_;
};

// "0_3_1"
class CoordinateNames final : public ChunkNames {
 public:
  explicit CoordinateNames(std::vector<std::uint64_t> grid_shape)
      : grid_shape_(std::move(grid_shape)) {}
  NameMeaning Parse(const GridDirectory&, std::string_view name) const override {
    ChunkFile chunk;
    const NameMatch match = ParseCellCoordinatesName(grid_shape_, name, chunk.cell);
    return Meaning(match, std::move(chunk));
  }
  std::string Path(const ChunkFile& chunk) const override {
    return CellCoordinatesName(chunk.cell);
  }
  using ChunkNames::Path;

 private:
  const std::vector<std::uint64_t> grid_shape_;
};

// "720575940379279312"
class IdNames final : public ChunkNames {
 public:
  NameMeaning Parse(const GridDirectory&, std::string_view name) const override {
    ChunkFile chunk;
    const NameMatch match = ParseIdName(name, chunk.id);
    return Meaning(match, std::move(chunk));
  }
  std::string Path(const ChunkFile& chunk) const override { return std::to_string(chunk.id); }
  using ChunkNames::Path;
};

constexpr ChunkPart kMeshFiles[] = {ChunkPart::kPlain, ChunkPart::kFragments};

// "17.index" and "17"
class MeshNames final : public ChunkNames {
 public:
  NameMeaning Parse(const GridDirectory&, std::string_view name) const override {
    ChunkFile chunk;
    MeshFile file = MeshFile::kManifest;
    const NameMatch match = ParseMeshFileName(name, chunk.id, file);
    if (file == MeshFile::kFragments) chunk.part = ChunkPart::kFragments;
    return Meaning(match, std::move(chunk));
  }
  std::string Path(const ChunkFile& chunk) const override {
    const bool fragments = chunk.part == ChunkPart::kFragments;
    return MeshFileName(chunk.id, fragments ? MeshFile::kFragments : MeshFile::kManifest);
  }
  using ChunkNames::Path;
  std::span<const ChunkPart> parts() const override { return kMeshFiles; }
};

std::unique_ptr<const ChunkNames> PlainNames(const ShardedDirectory& directory) {
  switch (directory.names) {
    case ShardedDirectory::Names::kChunkRanges:
      return std::make_unique<RangeNames>(directory.grid);
    case ShardedDirectory::Names::kCellCoordinates:
      return std::make_unique<CoordinateNames>(directory.grid_shape);
    case ShardedDirectory::Names::kIds:
      return std::make_unique<IdNames>();
    case ShardedDirectory::Names::kMeshes:
      return std::make_unique<MeshNames>();
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<const ChunkNames> MakePrecomputedNames(const ShardedDirectory& directory) {
  auto names = PlainNames(directory);
  const bool twins = directory.sharding.data_encoding == ShardEncoding::kGzip &&
                     directory.names != ShardedDirectory::Names::kMeshes;
  return twins ? WithGzipNames(std::move(names)) : std::move(names);
}

}  // namespace unshard
