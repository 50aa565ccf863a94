#include "store/volume/volume.h"

#include <chrono>
#include <cstddef>
#include <string>

#include "codec/pyramid/ome_version.h"
#include "store/cache/caching_store.h"
#include "store/files/document_replacer.h"
#include "store/object/log.h"
#include "store/object/prefetching_store.h"
#include "store/object/store_while_away.h"
#include "store/source/all_views.h"
#include "store/source/memory_shares.h"
#include "store/source/source.h"
#include "store/source/writable_views.h"

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
  LogWarning("option cache=" + options.cache +
             " has no effect: only data of remote stores is cached, and the source is a directory "
             "of this machine");
  return nullptr;
}

// Whether the store takes writes at all, as far as is known without one: where each file is asked
// for when it is opened for writing, also by a first write to a bucket, mounting writes nothing.
Status CanWrite(const SourceParts& source, const VolumeOptions& options) {
  if (!source.replacer) {
    return Fail(ErrorCode::kReadOnly, options.source, ": can only be read; open it read-only");
  }
  if (source.anonymous && options.read_only_otherwise) {
    return Fail(ErrorCode::kPermissionDenied, options.source,
                ": no credentials are sent (anonymous)");
  }
  return {};
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

// Makes the parts of a volume from those of its source.
class Opening {
 public:
  Opening(const SourceParts& source, const VolumeOptions& options)
      : source_(source), options_(options), memory_(options.memory_bytes) {}

  Result<VolumeParts> Run();

 private:
  [[nodiscard]] bool all_views() const { return options_.view == kAllViews; }
  Status AddCaches();
  void AddCatalog();
  void MakeWritable();
  void AddAllViews();
  [[nodiscard]] DatasetTreeOptions TreeOptions() const;
  Status Discover();

  const SourceParts& source_;
  const VolumeOptions& options_;
  const MemoryShares memory_;
  VolumeParts parts_;
  std::shared_ptr<AllViewsStore> views_;  // null where the volume has one view
};

Status Opening::AddCaches() {
  parts_.decoded = std::make_shared<ByteBudgetCache>(memory_.decoded_cache, memory_.decoding);
  // The kernel prefetches from files of a directory.
  if (!source_.store->capabilities().keeps_replaced_versions) {
    parts_.store = std::make_shared<PrefetchingStore>(parts_.store, parts_.decoded);
  }
  UNSHARD_ASSIGN_OR_RETURN(parts_.disk_cache, OpenDiskCache(options_, *source_.store));
  if (parts_.disk_cache) {
    parts_.store = std::make_shared<CachingStore>(parts_.store, parts_.disk_cache);
  }
  if (!options_.read_only && source_.contact) {
    parts_.store = std::make_shared<StoreWhileAway>(parts_.store, source_.contact);
  }
  return {};
}

void Opening::AddCatalog() {
  parts_.store = parts_.catalog = std::make_shared<CatalogStore>(parts_.store);
  if (!all_views()) return;
  for (const std::string_view view : AllViewNames()) parts_.catalog->AddDirectory(view);
}

void Opening::MakeWritable() {
  parts_.written = std::make_shared<CommittedVersions>();
  parts_.files = source_.files;
  parts_.replacer = parts_.documents = source_.replacer;
  if (parts_.files) return;
  parts_.object_files = std::make_shared<ObjectFiles>(
      parts_.store, source_.replacer, std::chrono::milliseconds(options_.ttl_milliseconds));
  parts_.files = parts_.object_files;
  parts_.documents = std::make_shared<DocumentReplacer>(parts_.object_files);
  parts_.store = parts_.object_files->over();
}

void Opening::AddAllViews() {
  parts_.store = views_ = std::make_shared<AllViewsStore>(parts_.store);
  if (options_.read_only) return;
  parts_.files = std::make_shared<AllViewsFiles>(parts_.files, views_);
  parts_.source_replacer = parts_.replacer;
  parts_.replacer = std::make_shared<AllViewsReplacer>(parts_.replacer);
  parts_.documents = std::make_shared<AllViewsReplacer>(parts_.documents);
}

DatasetTreeOptions Opening::TreeOptions() const {
  DatasetTreeOptions tree;
  tree.morton = options_.morton;
  tree.view = FindView(options_.view);
  tree.view_options = FindViewCodec(options_.view_codec).value_or(ViewOptions());
  tree.view_options.ome = FindOmeVersion(options_.ome);
  tree.lossy = options_.lossy;
  tree.encoded = parts_.decoded;
  tree.max_chunk_bytes = memory_.chunk;
  tree.catalog = parts_.catalog;
  tree.max_directories = SearchedAhead(options_, *source_.store);
  tree.shards.max_index_bytes = memory_.index;
  tree.shards.max_whole_shard_bytes = memory_.whole_shard;
  tree.shards.decoding = std::make_shared<ByteGate>(memory_.whole_shard);
  tree.shards.ttl_milliseconds = options_.ttl_milliseconds;
  tree.shards.immutable = options_.immutable;
  tree.written = parts_.written;
  return tree;
}

Status Opening::Discover() {
  Status discovered = parts_.datasets->Discover();
  if (!discovered && discovered.error().code == ErrorCode::kNotFound) {
    discovered.error().message += "; " + source_.advice();
  }
  UNSHARD_RETURN_IF_ERROR(std::move(discovered));
  for (const auto& [view, why] : parts_.datasets->refused_views()) {
    if (views_) views_->Hide(view);
  }
  for (const FoundDataset& found : parts_.datasets->found()) {
    LogDebug("/" + found.path + ": found: " + found.format +
             (found.description.empty() ? "" : ": " + found.description));
  }
  return {};
}

Result<VolumeParts> Opening::Run() {
  parts_.own_mount = source_.own_mount;
  parts_.contact = source_.contact;
  parts_.asked = source_.store;
  parts_.store = source_.store;
  parts_.watcher =
      all_views()
          ? std::make_shared<WatchMonitor>(std::make_unique<AllViewsWatcher>(source_.watcher))
          : source_.watcher;
  if (all_views() && options_.read_only) AddAllViews();
  UNSHARD_RETURN_IF_ERROR(AddCaches());
  if (!source_.store->capabilities().lists) AddCatalog();
  parts_.indexes = std::make_shared<IndexCache>(memory_.index_cache);
  parts_.reader = std::make_shared<ChunkReader>(parts_.decoded, memory_.chunk, parts_.reads,
                                                parts_.store->capabilities());
  if (!options_.read_only) MakeWritable();
  // On top of all that is written, so that what is cached or waits to be put is that of all views.
  if (all_views() && !options_.read_only) AddAllViews();
  parts_.datasets = std::make_shared<DatasetTree>(parts_.store, parts_.watcher, parts_.indexes,
                                                  parts_.reader, TreeOptions());
  UNSHARD_RETURN_IF_ERROR(Discover());
  return std::move(parts_);
}

}  // namespace

Result<std::unique_ptr<Volume>> Volume::Open(const VolumeOptions& given, OnChange on_change) {
  if (given.view == kAllViews) on_change = ForEachView(on_change);
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts source, OpenSource(given, on_change));
  VolumeOptions options = given;
  UNSHARD_RETURN_IF_ERROR(DecideWriting(source, options));
  UNSHARD_ASSIGN_OR_RETURN(VolumeParts parts, Opening(source, options).Run());
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
  parts.converting = &parts_.decoded->loading();
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
