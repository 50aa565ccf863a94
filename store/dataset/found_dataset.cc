#include "store/dataset/found_dataset.h"

#include <utility>

#include "codec/core/text.h"
#include "codec/grid/chunk_key.h"
#include "codec/pyramid/chunk_files.h"

namespace unshard {

std::string_view NameOf(NeuroglancerInfo::Type type) {
  switch (type) {
    case NeuroglancerInfo::Type::kVolume:
      return "precomputed volume";
    case NeuroglancerInfo::Type::kMeshes:
      return "precomputed meshes";
    case NeuroglancerInfo::Type::kSkeletons:
      return "precomputed skeletons";
    case NeuroglancerInfo::Type::kAnnotations:
      return "precomputed annotations";
    case NeuroglancerInfo::Type::kOther:
      return "precomputed";
  }
  return "precomputed";
}

std::string ChunksText(const FoundDataset& array) {
  const bool differ = array.chunk_shape.size() != array.shape.size();
  return differ ? "of several shapes" : ShapeText(array.chunk_shape);
}

FoundDataset FoundArray(const std::string& path, const std::string& format,
                        const ArrayDescription& array) {
  FoundDataset found;
  found.path = path;
  found.format = format;
  found.data_type = array.data_type;
  found.encoding = array.encoding;
  found.shape = array.shape;
  found.chunk_shape = array.chunk_shape;
  if (!array.shape.empty()) {
    found.description = array.data_type + " " + ShapeText(array.shape) + ", chunks " +
                        ChunksText(found) + ", " + array.encoding;
  }
  return found;
}

namespace {

std::string FormatName(const ViewSource& source) {
  const bool array = source.dataset.kind == SourceDataset::Kind::kArray;
  switch (source.dataset.dialect) {
    case Dialect::kPrecomputed:
      return "precomputed volume";
    case Dialect::kZarr3:
      return array ? "zarr v3 array" : "zarr v3 group";
    case Dialect::kZarr2:
      return array ? "zarr v2 array" : "zarr v2 group";
    case Dialect::kN5:
      break;
  }
  return array ? "n5 dataset" : "n5 group";
}

FoundDataset FoundLevel(const ViewSource& source, std::size_t i, std::string format) {
  const ViewSource::Level& level = source.levels[i];
  const Array& array = source.dataset.levels[i].array;
  const auto grid = FileGridOf(array);
  ArrayDescription description{DataTypeName(array.data_type), array.codec->text(), {}, {}};
  if (grid) {
    description.shape = grid->shape();
    if (grid->is_regular()) description.chunk_shape = grid->chunk_shape();
  }
  if (level.precomputed_shards || level.zarr_shards) format += ", sharded";
  return FoundArray(level.directory, format, description);
}

}  // namespace

std::vector<FoundDataset> FoundIn(const std::string& path, const ViewSource& source) {
  const std::string format = FormatName(source);
  if (source.dataset.kind == SourceDataset::Kind::kArray) return {FoundLevel(source, 0, format)};
  FoundDataset whole;
  whole.path = path;
  whole.format = format;
  std::vector<FoundDataset> found{std::move(whole)};
  const bool volume = source.dataset.dialect == Dialect::kPrecomputed;
  for (std::size_t i = 0; i < source.levels.size(); ++i) {
    found.push_back(FoundLevel(source, i, volume ? "precomputed scale" : "level of a pyramid"));
  }
  return found;
}

void AddStoredTrees(const StoredDataset& dataset, const ViewSource& source,
                    std::vector<FoundDataset>& found) {
  const std::size_t first = found.size() - source.levels.size();
  for (std::size_t i = 0; i < source.levels.size(); ++i) {
    const ViewSource::Level& level = source.levels[i];
    if (level.zarr_shards && level.zarr_shards->shard_grid.is_regular()) {
      found[first + i].shard_shape = level.zarr_shards->shard_grid.chunk_shape();
    }
    if (level.precomputed_shards || level.zarr_shards) found[first + i].tree = dataset.arrays[i];
  }
}

}  // namespace unshard
