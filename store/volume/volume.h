// A source that is open: its datasets, how their chunks are read and, where it can be written, how
// they are committed and published. What a mount, `unshard info` and `unshard spool publish` have
// in common; knows no kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "store/cache/disk_cache.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/committed_versions.h"
#include "store/dataset/dataset_tree.h"
#include "store/files/object_files.h"
#include "store/object/own_mount.h"
#include "store/source/volume_options.h"
#include "store/source/watch_monitor.h"
#include "store/volume/spool_folder.h"
#include "store/volume/write_pipeline.h"

namespace unshard {

struct VolumeParts {
  std::shared_ptr<ObjectStore> store;
  std::shared_ptr<WatchMonitor> watcher;
  std::shared_ptr<DatasetTree> datasets;
  std::shared_ptr<ByteBudgetCache> decoded;
  std::shared_ptr<IndexCache> indexes;
  std::shared_ptr<DiskCache> disk_cache;  // null: none
  std::shared_ptr<CatalogStore> catalog;  // null where the store lists
  std::shared_ptr<ReadCounters> reads = std::make_shared<ReadCounters>();
  std::shared_ptr<ChunkReader> reader;
  // Of writable volumes; null otherwise.
  std::shared_ptr<FileSystem> files;
  std::shared_ptr<ObjectReplacer> replacer;  // of shards
  // The same for keys without the name of a view, where all views are presented; else null.
  std::shared_ptr<ObjectReplacer> source_replacer;
  std::shared_ptr<ObjectReplacer> documents;  // of metadata documents
  // The same as `files` where these cannot be written in place; null elsewhere.
  std::shared_ptr<ObjectFiles> object_files;
  std::shared_ptr<CommittedVersions> written;
  // As in SourceParts.
  std::shared_ptr<StoreContact> contact;
  std::shared_ptr<ObjectStore> asked;  // the source's own, for whether it answers
  // To be set once it is mounted.
  std::shared_ptr<OwnMount> own_mount;
};

// Thread-safe once it is open. Its destructor waits for running publishes and begins no others:
// chunks that are not published stay in the spool.
class Volume {
 public:
  // Notified of what has changed in the store, from threads of this object. Must not wait.
  using OnChange = std::function<void(const ChangeWatcher::Event&)>;

  // Opens `options.source` (store/source/source.h) and searches it for datasets. Unless it is to
  // be read only, takes over what processes that have ended left in spools of this source, and
  // publishes it in the background. Starts threads, so call it after daemonising. Without
  // `on_change` nothing is watched. Fails, naming what is wrong, where there is nothing to open.
  static Result<std::unique_ptr<Volume>> Open(const VolumeOptions& options, OnChange on_change);

  // Of parts that are open already; `datasets` has been searched.
  Volume(VolumeParts parts, const VolumeOptions& options);
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  // Makes it writable: once, before others use it. Requires: parts.files, parts.replacer,
  // parts.written.
  void StartWriting(OpenedSpools spools, const OnChange& on_change);

  [[nodiscard]] const VolumeParts& parts() const { return parts_; }
  // Null where the volume is only read.
  [[nodiscard]] WritePipeline* writes() { return writes_.get(); }
  // None where the volume is only read.
  [[nodiscard]] const OpenedSpools& spools() const { return spools_; }

 private:
  const VolumeParts parts_;
  const VolumeOptions options_;
  OpenedSpools spools_;
  std::unique_ptr<WritePipeline> writes_;  // goes first: its threads use all the others
};

}  // namespace unshard
