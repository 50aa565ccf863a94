// The file system without any FUSE type: the source's tree with shards replaced by chunk files.
#pragma once

#include <atomic>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/attribute_demand.h"
#include "fs/chunk_reader.h"
#include "fs/counters.h"
#include "fs/dataset_tree.h"
#include "fs/directory_snapshots.h"
#include "fs/error_log.h"
#include "fs/mount_options.h"
#include "fs/node_id.h"
#include "fs/node_table.h"
#include "fs/request_epoch.h"
#include "fs/watch_monitor.h"

namespace unshard {

struct Attributes {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  timespec modified{};
  bool directory = false;
};

// The answer to a look-up. Node 0: there is no such name, and the kernel may remember that.
struct Entry {
  NodeId node = 0;
  Attributes attributes;
  std::uint64_t timeout_milliseconds = 0;
  // Bytes that will most likely be read next; to be anticipated once the answer is on its way.
  std::shared_ptr<ObjectHandle> next_object = nullptr;
  ByteRange next_range = {};
};

// One name of a directory. `entry` is there where attributes were asked for and cost nothing; it
// then holds a reference of the kernel's.
struct DirectoryName {
  std::string_view name;
  std::uint64_t inode = 0;
  bool directory = false;
  std::uint64_t next_cookie = 0;
  std::optional<Entry> entry;
};

// What the kernel is told when something changed outside. Called from the invalidating thread only.
class KernelNotifier {
 public:
  virtual ~KernelNotifier() = default;
  virtual void InvalidateEntry(NodeId parent, const std::string& name) = 0;
  virtual void InvalidateInode(NodeId node) = 0;
};

// Thread-safe. Failures are not logged here: the caller reports each failed request once, with
// Report().
class VolumeFs {
 public:
  struct Parts {
    std::shared_ptr<KvStore> store;
    std::shared_ptr<WatchMonitor> watcher;
    std::shared_ptr<DatasetTree> datasets;
    std::shared_ptr<ByteBudgetCache> decoded;
    std::shared_ptr<IndexCache> indexes;
  };
  VolumeFs(Parts parts, const MountOptions& options);
  ~VolumeFs();

  // Held by a request until its answer has reached the kernel.
  [[nodiscard]] RequestEpoch::Ticket BeginRequest() { return epoch_.Enter(); }

  // Adds one reference of the kernel's to the node it answers with.
  Result<Entry> Lookup(NodeId parent, std::string_view name);
  void Forget(NodeId node, std::uint64_t references);
  Result<Entry> GetAttributes(NodeId node);
  Result<FilePiece> Read(NodeId node, std::uint64_t offset, std::uint64_t size);
  // Names after `cookie` (0: all) until the visitor returns false, which means that it has not
  // taken the name.
  using DirectoryVisitor = std::function<bool(const DirectoryName&)>;
  Status ReadDirectory(NodeId node, std::uint64_t cookie, bool with_attributes,
                       const DirectoryVisitor& visitor);
  // The value of user.unshard.*; nothing where the node has no such attribute.
  Result<std::optional<std::string>> GetExtendedAttribute(NodeId node, std::string_view name);
  [[nodiscard]] std::vector<std::string> ListExtendedAttributes(NodeId node) const;

  // Looks again at what may have changed under `event` and tells the kernel.
  void Refresh(const ChangeWatcher::Event& event, KernelNotifier& notifier);

  // For messages; "" for the root, and for nodes that are gone.
  [[nodiscard]] std::string PathOf(NodeId node) const;
  // Requests on .unshard are not counted.
  [[nodiscard]] bool IsControl(NodeId node) const;
  void Report(std::string_view operation, NodeId node, std::string_view name, const Error& error);

  [[nodiscard]] const MountOptions& options() const { return options_; }
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] const ErrorLog& errors() const { return errors_; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }

 private:
  using TablePtr = std::shared_ptr<const TableNode>;

  Result<Entry> LookupInDirectory(const DirectoryTarget& directory, std::string_view name);
  Result<Entry> LookupInTree(const std::shared_ptr<ChunkTree>& tree, const ChunkTree::Match& match);
  Result<Entry> LookupInSource(const DirectoryTarget& directory, const std::string& path);
  Result<Entry> LookupGrid(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                           std::string_view name);
  Result<Entry> LookupControl(std::string_view name);
  Entry ReferChunk(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk,
                   const ChunkFacts& facts);
  Result<Entry> ReferGridDirectory(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in);
  Entry ReferDirectory(const std::string& path, bool opaque, const ObjectInfo* info);
  Entry ReferDocument(const std::string& path, const Document& document);
  Entry ReferFile(const std::string& path, const ObjectInfo& info);

  Result<Entry> AttributesOfTableNode(const TableNode& node);
  Result<FilePiece> ReadTableNode(const TableNode& node, std::uint64_t offset, std::uint64_t size);

  struct Listing {
    NodeId node;
    std::uint64_t cookie;
    bool with_attributes;
    const DirectoryVisitor& visitor;
  };
  Status ListDirectory(const DirectoryTarget& directory, const Listing& listing);
  Status ListGridDirectory(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                           const Listing& listing);
  Status ListControl(const Listing& listing);
  Status ListPlainDirectory(const std::string& path, const Listing& listing);
  static bool ListDots(std::uint64_t inode, const Listing& listing);
  using NameFilter = std::function<bool(std::string_view)>;
  Status ListSourceNames(const std::string& path, const std::set<std::string>& virtual_children,
                         const NameFilter& shown, const Listing& listing, bool& more);
  Status ListTree(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                  std::uint64_t base_cookie, const Listing& listing, bool& more);
  std::optional<Entry> FreeEntry(const std::shared_ptr<ChunkTree>& tree,
                                 const ChunkTree::Match& match);
  std::uint64_t InodeOf(const ChunkTree& tree, const ChunkTree::Match& match) const;

  void RefreshTree(const std::shared_ptr<ChunkTree>& tree, const ChangeWatcher::Event& event,
                   KernelNotifier& notifier);
  void TellChange(const std::shared_ptr<ChunkTree>& tree, const ShardSet::Change& change,
                  KernelNotifier& notifier);
  void RefreshDirectories(const std::shared_ptr<ChunkTree>& tree, const std::string& key,
                          KernelNotifier& notifier);
  void RefreshAllDirectories(const std::shared_ptr<ChunkTree>& tree, KernelNotifier& notifier);
  void TellFirstLevel(const std::shared_ptr<ChunkTree>& tree, KernelNotifier& notifier);
  void TellDirectories(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                       KernelNotifier& notifier);
  std::optional<NodeId> KnownNode(const ChunkTree& tree, const GridDirectory& in) const;
  void RefreshPath(const std::string& path, KernelNotifier& notifier);

  [[nodiscard]] static bool IsHidden(const DirectoryOverlay& overlay, std::string_view name);
  [[nodiscard]] Entry Missing() const;
  [[nodiscard]] std::uint64_t Timeout() const;
  [[nodiscard]] timespec ModifiedOf(const std::string& store_directory) const;

  const Parts parts_;
  const MountOptions options_;
  const timespec mounted_;
  Counters counters_;
  ErrorLog errors_;
  NodeTable nodes_;
  ChunkReader reader_;
  DirectorySnapshots snapshots_;
  AttributeDemand attribute_demand_;
  RequestEpoch epoch_;
  std::atomic<std::uint64_t> next_snapshot_{0};
};

}  // namespace unshard
