// Shared by all nodes of one mount: the layers below, the table of nodes, and the writers.
#pragma once

#include <atomic>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "fs/common/counters.h"
#include "fs/common/error_log.h"
#include "fs/common/mount_options.h"
#include "fs/tree/attribute_demand.h"
#include "fs/tree/directory_moves.h"
#include "fs/tree/directory_snapshots.h"
#include "fs/tree/entry.h"
#include "fs/tree/given_times.h"
#include "fs/tree/kept_listings.h"
#include "fs/tree/node.h"
#include "fs/tree/node_table.h"
#include "fs/tree/removed_directories.h"
#include "fs/tree/volume_file_nodes.h"
#include "fs/write/held_contents.h"
#include "fs/write/node_choice.h"
#include "fs/write/open_versions.h"
#include "fs/write/open_writers.h"
#include "fs/write/request_epoch.h"
#include "fs/write/scratch_files.h"
#include "fs/write/staged_files.h"
#include "store/object/byte_gate.h"
#include "store/source/all_views.h"
#include "store/volume/metadata_documents.h"
#include "store/volume/volume.h"
#include "store/volume_file/source_arrays.h"

namespace unshard {

// How a writable mount reaches the kernel, and the invalidating thread.
struct WriteNotifications {
  // Queue a dentry, or the pages of a node, for the kernel to drop, and a key to be revalidated.
  std::function<void(NodeId parent, const std::string& name)> drop_entry;
  std::function<void(NodeId node)> drop_pages;
  std::function<void(const std::string& key)> revalidate;
  // Returns once such a dentry is dropped, or after a while.
  std::function<void(NodeId parent, const std::string& name)> await_drop;
};

// The members are thread-safe, each by itself; they are set up before requests come.
struct Superblock {
  Superblock(std::unique_ptr<Volume> opened, const MountOptions& mount_options);
  // For a writable volume: call it once, before requests come.
  void StartWriting(WriteNotifications notifications);
  [[nodiscard]] bool writable() const { return writes != nullptr; }
  // Whether chunks that are written have names in several views: the kernel does not know that
  // these are one file, so names and listings are looked up each time.
  [[nodiscard]] bool shares_chunks() const { return writable() && options.view == kAllViews; }
  // Nothing on read-only mounts.
  [[nodiscard]] std::optional<SpoolStatus> write_status() const;

  // The node of a number: made for this call for a grid cell or grid directory, else that of the
  // table. Null where the kernel holds no reference to it, or its array was replaced.
  [[nodiscard]] NodePtr At(NodeId id);
  // The kernel has dropped `references` to a node.
  void Forget(NodeId id, std::uint64_t references);
  // Paths below the mount point, for messages: "" for the root. What is written is named by what it
  // becomes, which may have been renamed since it was opened.
  [[nodiscard]] std::string PathOf(NodeId id);
  [[nodiscard]] std::string PathOf(const OpenFile& file);
  // Counts and logs a failed request.
  void Report(std::string_view operation, const std::string& path, const Error& error);

  // The time to live of entries that we invalidate in the kernel when they change.
  [[nodiscard]] std::uint64_t Timeout() const;
  // The same for names of the source.
  [[nodiscard]] std::uint64_t NameTimeout() const;
  // The negative entry.
  [[nodiscard]] Entry Missing() const { return Entry{0, {}, Timeout()}; }
  // When a directory of the store was modified; the time of the mount where it does not exist, or
  // is one of a remote store, which has no time of its own.
  [[nodiscard]] timespec ModifiedOf(const std::string& store_directory) const;

  const std::unique_ptr<Volume> volume;  // destroyed last
  const VolumeParts& parts;
  const MountOptions options;
  const timespec mount_time;
  Counters counters;
  ErrorLog errors;
  VolumeFileNodes volume_file_nodes;
  NodeTable nodes;
  DirectorySnapshots snapshots;
  AttributeDemand attribute_demand;
  RequestEpoch epoch;
  GivenTimes given_times;
  const std::unique_ptr<SourceArrays> arrays;       // null without files=
  std::atomic<std::uint64_t> control_snapshots{0};  // of control files, so far

  // Has the kernel drop what it keeps of a listing, soon; null: it keeps none.
  std::function<void(NodeId directory)> drop_listing;

  // Of writable mounts.
  WriteNotifications writing;
  ScratchFiles scratch;
  RemovedDirectories removed;
  KeptListings kept_listings;
  DirectoryMoves directory_moves;
  OpenWriters writers;
  NodeChoice choice;
  OpenVersions open_versions;
  std::atomic<std::uint64_t> own_nodes{0};      // nodes that were given to one look-up each, so far
  std::atomic<std::uint64_t> scratch_files{0};  // created so far
  std::mutex links_mutex;                       // one link at a time gives a chunk its name
  std::unique_ptr<MetadataDocuments> documents;
  std::unique_ptr<StagedFiles> staged_files;
  std::unique_ptr<HeldContents> held_contents;
  ByteGate gzipping;            // chunks for names with ".gz"
  WritePipeline* const writes;  // null where the mount is read-only
};

}  // namespace unshard
