#include "store/copy/opened_dataset.h"

#include <algorithm>
#include <utility>

#include "store/object/key.h"

namespace unshard {

Status OpenedDataset::OpenStore(const VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(parts_, OpenSource(options, nullptr));
  store_ = parts_.store;
  if (!store_->capabilities().lists) {
    store_ = catalog_ = std::make_shared<CatalogStore>(store_);
  }
  return {};
}

void OpenedDataset::LeaveOut(const std::string& path, Error reason) {
  std::erase_if(members_.datasets,
                [&](const DatasetMember& one) { return IsAtOrBelow(one.path, path); });
  members_.skipped.push_back({path, std::move(reason)});
}

// " holds 2 datasets (image, labels)": of a directory without a document.
std::string OpenedDataset::DatasetsInRoot() const {
  constexpr std::size_t kMostLookedAt = 32, kMostInMessage = 3;
  std::vector<std::string> names;
  std::size_t looked_at = 0;
  if (!store_->capabilities().lists) return "";
  const Status listed = store_->List("", CallerDeadline(), [&](const ListEntry& entry) {
    if (entry.kind == ObjectInfo::Kind::kDirectory) names.emplace_back(entry.name);
    return ++looked_at < kMostLookedAt;
  });
  std::erase_if(names, [&](const std::string& name) {
    const auto found = ReadViewSource(*store_, name, nullptr, Arrays::kChunks);
    return !found || !*found;
  });
  if (!listed || names.empty()) return "";
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostInMessage); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostInMessage) text += ", …";
  return " holds " + std::to_string(names.size()) +
         (names.size() == 1 ? " dataset (" : " datasets (") + text + ")";
}

tl::unexpected<Error> OpenedDataset::Missing(const std::string& path, bool is_group) const {
  if (const std::string held = path.empty() && !is_group ? DatasetsInRoot() : ""; !held.empty()) {
    return Fail(ErrorCode::kNotFound, store_->Describe(""), held, "; name one of them");
  }
  return Fail(ErrorCode::kNotFound, store_->Describe(path),
              ": not an array, a precomputed volume or a multiscale group; ",
              is_group ? "name one of the arrays in the group"
                       : "it has no info, zarr.json, .zarray or attributes.json");
}

Result<OpenedDataset> OpenedDataset::Open(const VolumeOptions& options, const CopyLimits& limits,
                                          const std::set<std::string>& excluded) {
  OpenedDataset opened;
  UNSHARD_RETURN_IF_ERROR(opened.OpenStore(options));
  UNSHARD_ASSIGN_OR_RETURN(opened.members_,
                           FindMembers(*opened.store_, opened.catalog_.get(), excluded));
  if (opened.datasets().empty() && !opened.members_.skipped.empty()) {
    return tl::unexpected<Error>(opened.members_.skipped.front().reason);
  }
  if (opened.datasets().empty()) {
    UNSHARD_ASSIGN_OR_RETURN(
        const auto root,
        ReadViewSource(*opened.store_, "", opened.catalog_.get(), Arrays::kChunks));
    return opened.Missing("", root.has_value());
  }
  opened.OpenTrees(limits);
  return opened;
}

Result<OpenedDataset> OpenedDataset::OpenAt(const VolumeOptions& options,
                                            const std::vector<std::string>& paths,
                                            const CopyLimits& limits) {
  OpenedDataset opened;
  UNSHARD_RETURN_IF_ERROR(opened.OpenStore(options));
  for (const std::string& path : paths) {
    UNSHARD_ASSIGN_OR_RETURN(
        auto source, ReadViewSource(*opened.store_, path, opened.catalog_.get(), Arrays::kChunks));
    if (!source || source->levels.empty()) return opened.Missing(path, source.has_value());
    opened.members_.datasets.push_back({path, *std::move(source)});
  }
  opened.OpenTrees(limits);
  return opened;
}

void OpenedDataset::OpenTrees(const CopyLimits& limits) {
  StoredTrees::Parts parts;
  parts.store = store_;
  parts.cache = std::make_shared<IndexCache>(limits.index_bytes);
  parts.reader =
      std::make_shared<ChunkReader>(std::make_shared<ByteBudgetCache>(0), limits.chunk_bytes,
                                    std::make_shared<ReadCounters>(), store_->capabilities());
  parts.shards.max_index_bytes = limits.index_bytes;
  parts.shards.max_whole_shard_bytes = limits.whole_shard_bytes;
  parts.shards.immutable = true;  // each shard is read once
  parts.max_chunk_bytes = limits.chunk_bytes;
  trees_ = std::make_shared<StoredTrees>(std::move(parts));
}

std::vector<std::string> OpenedDataset::Documents() const {
  std::vector<std::string> keys;
  for (const DatasetMember& dataset : datasets()) {
    for (const auto& [name, info] : dataset.source.documents) {
      keys.push_back(JoinPath(dataset.path, name));
    }
  }
  return keys;
}

Result<StoredArray> OpenedDataset::OpenLevel(const DatasetMember& dataset,
                                             std::size_t level) const {
  const ViewSource::Level& stored = dataset.source.levels[level];
  const Array& array = dataset.source.dataset.levels[level].array;
  auto tree = trees_->OpenLevel(stored, array);
  if (!tree) {
    return Forward(std::move(tree).error(),
                   store_->Describe(JoinPath(dataset.path, dataset.source.document)));
  }
  const bool sharded = stored.precomputed_shards || stored.zarr_shards;
  return StoredArray{store_->Describe(stored.directory), array, *std::move(tree), sharded};
}

}  // namespace unshard
