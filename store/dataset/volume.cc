#include "store/dataset/volume.h"

#include <chrono>
#include <cstddef>
#include <string>

#include "store/cache/caching_store.h"
#include "store/dataset/all_views.h"
#include "store/dataset/memory_shares.h"
#include "store/dataset/source.h"
#include "store/dataset/writable_views.h"
#include "store/files/document_replacer.h"
#include "store/object/log.h"
#include "store/object/prefetching_store.h"
#include "store/object/store_while_away.h"

namespace unshard {
namespace {

// Directories that are searched for datasets at the start: behind a store that cannot list, each
// costs requests, and the others are known by what their parent says of them.
std::size_t SearchedAhead(const VolumeOptions& options, const ObjectStore& store) {
  if (options.searched_ahead) return *options.searched_ahead;
  if (store.capabilities().lists) return kSearchedAhead;
  return options.view == kAllViews ? 1 + AllViewNames().size() : 1;
}

// Null where nothing is to be kept.
Result<std::shared_ptr<DiskCache>> OpenDiskCache(const VolumeOptions& options,
                                                 const ObjectStore& store) {
  if (options.cache.empty()) return nullptr;
  if (!store.Identity().empty()) {
    const std::uint64_t queued = MemoryShares(options.memory_bytes).queued_for_disk;
    return DiskCache::Open(options.cache, {options.cache_bytes, queued});
  }
  LogWarning("option cache=" + options.cache + " has no effect: only what remote stores send is " +
             "kept, and the source is a directory of this machine");
  return nullptr;
}

Status Discover(DatasetTree& datasets, const SourceParts& source) {
  Status discovered = datasets.Discover();
  if (!discovered && discovered.error().code == ErrorCode::kNotFound) {
    discovered.error().message += "; " + source.advice();
  }
  return discovered;
}

// Whether the store takes writes at all: where files are written in place each is asked for itself.
Status CanWrite(const SourceParts& source, const VolumeOptions& options) {
  if (!source.replacer) {
    return Fail(ErrorCode::kReadOnly, options.source + ": can only be read; open it read-only");
  }
  if (source.files) return {};
  if (options.anonymous && options.read_only_otherwise) {
    return Fail(ErrorCode::kPermissionDenied,
                options.source + ": no credentials are sent (anonymous)");
  }
  return source.replacer->CanReplace("");
}

// Sets `read_only` where the source cannot be written and that will do.
Status DecideWriting(const SourceParts& source, VolumeOptions& options) {
  if (options.read_only) return {};
  const Status can_write = CanWrite(source, options);
  if (can_write || !options.read_only_otherwise) return can_write;
  LogWarning(can_write.error().message + "; mounting read-only");
  options.read_only = true;
  return {};
}

}  // namespace

Result<std::unique_ptr<Volume>> Volume::Open(const VolumeOptions& given, OnChange on_change) {
  const bool all_views = given.view == kAllViews;
  if (all_views) on_change = ForEachView(on_change);
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts source, OpenSource(given, on_change));
  VolumeOptions options = given;
  UNSHARD_RETURN_IF_ERROR(DecideWriting(source, options));
  // Below the views, so that what is cached or waits to be put is that of all of them.
  const bool writes_all = all_views && !options.read_only;
  VolumeParts parts;
  const MemoryShares memory(options.memory_bytes);
  parts.own_mount = source.own_mount;
  parts.contact = source.contact;
  parts.asked = source.store;
  parts.store = source.store;
  parts.watcher = source.watcher;
  std::shared_ptr<AllViewsStore> views;
  if (all_views) {
    parts.watcher =
        std::make_shared<WatchMonitor>(std::make_unique<AllViewsWatcher>(source.watcher));
  }
  if (all_views && !writes_all) {
    parts.store = views = std::make_shared<AllViewsStore>(source.store);
  }
  parts.decoded = std::make_shared<ByteBudgetCache>(memory.decoded_cache, memory.decoding);
  // The kernel prefetches from files of a directory.
  if (!source.store->capabilities().keeps_replaced_versions) {
    parts.store = std::make_shared<PrefetchingStore>(parts.store, parts.decoded);
  }
  UNSHARD_ASSIGN_OR_RETURN(parts.disk_cache, OpenDiskCache(options, *source.store));
  if (parts.disk_cache) {
    parts.store = std::make_shared<CachingStore>(parts.store, parts.disk_cache);
  }
  if (!options.read_only && source.contact) {
    parts.store = std::make_shared<StoreWhileAway>(parts.store, source.contact);
  }
  if (!source.store->capabilities().lists) {
    parts.store = parts.catalog = std::make_shared<CatalogStore>(parts.store);
    if (all_views) {
      for (const std::string_view view : AllViewNames()) parts.catalog->AddDirectory(view);
    }
  }
  parts.indexes = std::make_shared<IndexCache>(memory.index_cache);
  parts.reader = std::make_shared<ChunkReader>(parts.decoded, memory.chunk, parts.reads,
                                               parts.store->capabilities());
  DatasetTreeOptions tree_options;
  tree_options.morton = options.morton;
  tree_options.view = FindView(options.view);
  tree_options.view_options = FindViewCodec(options.view_codec).value_or(ViewOptions());
  tree_options.lossy = options.lossy;
  tree_options.encoded = parts.decoded;
  tree_options.max_chunk_bytes = memory.chunk;
  tree_options.catalog = parts.catalog;
  tree_options.max_directories = SearchedAhead(options, *source.store);
  tree_options.shards.max_index_bytes = memory.index;
  tree_options.shards.max_wrapped_bytes = memory.wrapped_shard;
  tree_options.shards.ttl_milliseconds = options.ttl_milliseconds;
  tree_options.shards.immutable = options.immutable;
  if (!options.read_only) {
    parts.files = source.files;
    parts.replacer = parts.documents = source.replacer;
    if (!parts.files) {
      parts.object_files = std::make_shared<ObjectFiles>(
          parts.store, source.replacer, std::chrono::milliseconds(options.ttl_milliseconds));
      parts.files = parts.object_files;
      parts.documents = std::make_shared<DocumentReplacer>(parts.object_files);
      parts.store = parts.object_files->over();
    }
    if (writes_all) {
      parts.store = views = std::make_shared<AllViewsStore>(parts.store);
      parts.files = std::make_shared<AllViewsFiles>(parts.files, views);
      parts.source_replacer = parts.replacer;
      parts.replacer = std::make_shared<AllViewsReplacer>(parts.replacer);
      parts.documents = std::make_shared<AllViewsReplacer>(parts.documents);
    }
    parts.written = std::make_shared<CommittedVersions>();
    tree_options.written = parts.written;
  }
  parts.datasets = std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes,
                                                 parts.reader, tree_options);
  UNSHARD_RETURN_IF_ERROR(Discover(*parts.datasets, source));
  if (all_views) {
    for (const auto& [view, why] : parts.datasets->refused_views()) views->Hide(view);
  }
  for (const FoundDataset& found : parts.datasets->found()) {
    LogDebug("/" + found.path + ": found: " + found.format +
             (found.description.empty() ? "" : ": " + found.description));
  }
  auto volume = std::make_unique<Volume>(std::move(parts), options);
  if (options.read_only) return volume;
  UNSHARD_ASSIGN_OR_RETURN(OpenedSpools spools, OpenSpools(options));
  volume->StartWriting(std::move(spools), on_change);
  return volume;
}

Volume::Volume(VolumeParts parts, const VolumeOptions& options)
    : parts_(std::move(parts)), options_(options) {}

Volume::~Volume() {
  writes_.reset();
  if (parts_.written) parts_.written->Clear();
}

void Volume::StartWriting(OpenedSpools spools, const OnChange& on_change) {
  spools_ = std::move(spools);
  WritePipeline::Parts parts;
  parts.replacer = parts_.replacer;
  parts.source_replacer = parts_.source_replacer;
  if (parts.source_replacer) parts.root = std::string(kViewOfShards) + "/";
  parts.files = parts_.object_files;
  parts.datasets = parts_.datasets;
  parts.written = parts_.written;
  parts.spools = spools_.spools;
  parts.spool_path = spools_.paths.front();
  parts.contact = parts_.contact;
  if (parts_.contact) {
    parts.ask_store = [store = parts_.asked](const Deadline& deadline) {
      const auto answer = store->Stat("", deadline);
      return answer || answer.error().code != ErrorCode::kUnavailable;
    };
  }
  if (on_change) {
    parts.on_renewed = [on_change](const std::string& key) { on_change({key, false}); };
  }
  writes_ = std::make_unique<WritePipeline>(std::move(parts), options_);
  writes_->Replay();
}

}  // namespace unshard
