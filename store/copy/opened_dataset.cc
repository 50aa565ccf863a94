#include "store/copy/opened_dataset.h"

#include <utility>

#include "store/object/key.h"

namespace unshard {

Result<OpenedDataset> OpenedDataset::Open(const VolumeOptions& options, const CopyLimits& limits) {
  OpenedDataset opened;
  UNSHARD_ASSIGN_OR_RETURN(opened.parts_, OpenSource(options, nullptr));
  opened.store_ = opened.parts_.store;
  if (!opened.store_->capabilities().lists) {
    opened.store_ = opened.catalog_ = std::make_shared<CatalogStore>(opened.store_);
  }
  UNSHARD_ASSIGN_OR_RETURN(auto source, ReadViewSource(*opened.store_, "", opened.catalog_.get()));
  if (!source || source->levels.empty()) {
    return Fail(ErrorCode::kNotFound,
                opened.Describe() +
                    ": expected an array, a precomputed volume or a multiscale "
                    "group; " +
                    (source ? "name one of the arrays in the group"
                            : "found no document of one (info, zarr.json, .zarray, "
                              "attributes.json)"));
  }
  opened.source_ = *std::move(source);
  StoredTrees::Parts parts;
  parts.store = opened.store_;
  parts.cache = std::make_shared<IndexCache>(limits.index_bytes);
  parts.reader = std::make_shared<ChunkReader>(std::make_shared<ByteBudgetCache>(0),
                                               limits.chunk_bytes, std::make_shared<ReadCounters>(),
                                               opened.store_->capabilities());
  parts.shards.max_index_bytes = limits.index_bytes;
  parts.shards.max_wrapped_bytes = limits.wrapped_bytes;
  parts.shards.immutable = true;  // each shard is read once
  parts.max_chunk_bytes = limits.chunk_bytes;
  opened.trees_ = std::make_shared<StoredTrees>(std::move(parts));
  return opened;
}

std::vector<std::string> OpenedDataset::Documents() const {
  std::vector<std::string> keys;
  for (const auto& [key, info] : source_.documents) keys.push_back(key);
  return keys;
}

Result<StoredArray> OpenedDataset::OpenLevel(std::size_t level) const {
  const ViewSource::Level& stored = source_.levels[level];
  const ArrayMetadata& array = source_.dataset.levels[level].array;
  auto tree = trees_->OpenLevel(stored, array);
  if (!tree) {
    return Forward(std::move(tree).error(), store_->Describe(JoinPath("", source_.document)));
  }
  const bool sharded = stored.precomputed_shards || stored.zarr_shards;
  return StoredArray{store_->Describe(stored.directory), array, *std::move(tree), sharded};
}

}  // namespace unshard
