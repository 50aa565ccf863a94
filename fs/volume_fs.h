// The file system without any FUSE type: the source's tree with shards replaced by chunk files.
#pragma once

#include <atomic>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/attribute_demand.h"
#include "fs/common/counters.h"
#include "fs/common/error_log.h"
#include "fs/common/mount_options.h"
#include "fs/directory_moves.h"
#include "fs/node_table.h"
#include "fs/open_file.h"
#include "fs/request_epoch.h"
#include "fs/staged_files.h"
#include "fs/tree/chunk_reader.h"
#include "fs/tree/dataset_tree.h"
#include "fs/tree/directory_snapshots.h"
#include "fs/tree/node_id.h"
#include "fs/tree/removed_directories.h"
#include "fs/tree/watch_monitor.h"
#include "fs/write/chunk_writers.h"
#include "fs/write/chunk_writes.h"
#include "fs/write/metadata_documents.h"
#include "fs/write/node_choice.h"
#include "fs/write/open_versions.h"
#include "fs/write/scratch_files.h"

namespace unshard {

struct Attributes {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  timespec modified{};
  bool directory = false;
  std::uint32_t links = 1;
  bool control = false;  // belongs to .unshard and is never written
};

// The answer to a look-up. Node 0: there is no such name, and the kernel may remember that.
struct Entry {
  NodeId node = 0;
  Attributes attributes;
  std::uint64_t timeout_milliseconds = 0;
  // Bytes that will most likely be read next; to be prefetched once the answer is on its way.
  std::shared_ptr<ObjectVersion> next_object = nullptr;
  ByteRange next_range = {};
  // How long the kernel may keep the attributes, where that is not as long as the name.
  std::optional<std::uint64_t> attributes_milliseconds = std::nullopt;
  std::uint64_t generation = 0;  // of a grid directory (fs/tree/removed_directories.h)
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
    std::shared_ptr<ObjectStore> store;
    std::shared_ptr<WatchMonitor> watcher;
    std::shared_ptr<DatasetTree> datasets;
    std::shared_ptr<ByteBudgetCache> decoded;
    std::shared_ptr<IndexCache> indexes;
    // Of writable mounts; null otherwise.
    std::shared_ptr<FileSystem> files;
    std::shared_ptr<WrittenChunks> written;
    // To be set once it is mounted.
    std::shared_ptr<OwnMount> own_mount;
  };
  VolumeFs(Parts parts, const MountOptions& options);
  ~VolumeFs();

  // Makes the mount writable: once, before requests come. Replays what the spools hold.
  struct Writing {
    std::vector<std::shared_ptr<Spool>> spools;
    std::vector<std::string> paths;  // where they are
    // Told of names that the kernel should drop, and of keys to look at again; both asynchronously.
    std::function<void(NodeId parent, const std::string& name)> drop_entry;
    std::function<void(const std::string& key)> look_again;
    // Returns once such a name is dropped, or after a while.
    std::function<void(NodeId parent, const std::string& name)> await_drop;
  };
  void StartWriting(Writing writing);
  [[nodiscard]] const Writing& writing() const { return writing_; }

  // Held by a request until its answer has reached the kernel.
  [[nodiscard]] RequestEpoch::Ticket BeginRequest() { return epoch_.Enter(); }
  // Returns once the requests that are running have been answered. For the invalidating thread.
  void AwaitAnswers() { epoch_.WaitForRunning(); }

  // Adds one reference of the kernel's to the node it answers with.
  // `thread` is the caller's (fs/write/chunk_writers.h).
  Result<Entry> Lookup(NodeId parent, std::string_view name, pid_t thread = 0);
  void Forget(NodeId node, std::uint64_t references);
  Result<Entry> GetAttributes(NodeId node);
  Result<FilePiece> Read(NodeId node, std::uint64_t offset, std::uint64_t size);
  // Names after `cookie` (0: all) until the visitor returns false, which means that it has not
  // taken the name.
  using DirectoryVisitor = std::function<bool(const DirectoryName&)>;
  Status ReadDirectory(NodeId node, std::uint64_t cookie, bool with_attributes,
                       const DirectoryVisitor& visitor);
  // Whether the kernel may keep the listing of a directory: it hears of all that changes it.
  [[nodiscard]] bool ListingIsKept(NodeId node) const;
  // The value of user.unshard.*; nothing where the node has no such attribute.
  Result<std::optional<std::string>> GetExtendedAttribute(NodeId node, std::string_view name);
  [[nodiscard]] std::vector<std::string> ListExtendedAttributes(NodeId node);

  // Of writable mounts. A failure with kConflict and without a message asks the kernel to look the
  // name up again, and is no error.
  Result<OpenFilePtr> Open(NodeId node, const OpenRequest& request);
  struct Created {
    Entry entry;
    OpenFilePtr file;
  };
  Result<Created> Create(NodeId parent, std::string_view name, const OpenRequest& request);
  // mknod(2) of a regular file, which is empty and open nowhere: EPERM for a chunk.
  Result<Entry> MakeFile(NodeId parent, std::string_view name, pid_t thread);
  // What an open file does itself, counted where that is counted.
  static Result<FilePiece> Read(OpenFile& file, std::uint64_t offset, std::uint64_t size) {
    return file.Read(offset, size);
  }
  Status Write(OpenFile& file, std::uint64_t offset, ByteSpan bytes) {
    counters_.bytes_written.fetch_add(bytes.size(), std::memory_order_relaxed);
    return file.Write(offset, bytes);
  }
  // Commits what was written, where `thread` belongs to the process that opened the file; others
  // have it in common with that process, which goes on writing.
  static Status Flush(OpenFile& file, pid_t thread) { return file.Flush(thread); }
  // Commits too, durably.
  static Status Sync(OpenFile& file) { return file.Sync(); }
  static void Release(OpenFilePtr file) { file.reset(); }
  Result<Entry> SetAttributes(NodeId node, OpenFile* file, const AttributeChange& change,
                              pid_t thread);
  Status SyncDirectory(NodeId node);
  Status Remove(NodeId parent, std::string_view name);
  Status Rename(NodeId parent, std::string_view name, NodeId new_parent, std::string_view new_name,
                bool replace);
  Result<Entry> Link(NodeId node, NodeId new_parent, std::string_view new_name);
  Result<Entry> MakeDirectory(NodeId parent, std::string_view name);
  Status RemoveDirectory(NodeId parent, std::string_view name);
  // Publishes all that was committed before the call.
  Status FlushAll();
  // The mount is ending: shards that other writers hold locked are no longer waited for as long.
  void End();
  [[nodiscard]] bool writable() const { return writes_ != nullptr; }
  [[nodiscard]] std::optional<WriteStatus> write_status() const;

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
  // For as long as the kernel is told: names that nobody changes without notifying it.
  static constexpr std::uint64_t kDayMilliseconds = std::uint64_t{86400} * 1000;
  using TablePtr = std::shared_ptr<const TableNode>;

  Result<Entry> LookupInDirectory(const DirectoryTarget& directory, std::string_view name,
                                  pid_t thread);
  Result<Entry> LookupInTree(const std::shared_ptr<ChunkTree>& tree, const ChunkTree::Match& match,
                             pid_t thread);
  Result<Entry> LookupLatest(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk);
  Result<Entry> LookupInSource(const DirectoryTarget& directory, const std::string& path);
  Result<Entry> LookupGrid(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                           std::string_view name, pid_t thread);
  std::optional<Entry> LookupScratch(const std::string& directory, std::string_view name);
  Entry ReferScratchDirectory(const ScratchDirectoryPtr& directory);
  Result<Entry> LookupControl(std::string_view name);
  Entry ReferChunk(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk,
                   const ChunkFacts& facts, NodeUse use = NodeUse::kCached);
  using MakeTarget = std::function<NodeTarget(NodeUse)>;
  Entry ReferFree(const std::string& identity, NodeUse use, const Attributes& attributes,
                  const MakeTarget& target);
  Result<Entry> ReferGridDirectory(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in);
  Entry ReferDirectory(const std::string& path, bool opaque, const ObjectInfo* info);
  Entry ReferDocument(const std::string& path, const Document& document);
  Entry ReferFile(const std::string& path, const ObjectInfo& info);
  Entry ReferLiveFile(const std::string& path, const FileStatus& status);
  Entry ReferStaged(const std::shared_ptr<StagedInode>& staged);
  Result<Entry> ReferWritten(const WrittenVersionPtr& version, const ChunkRef& chunk, NodeUse use);
  std::optional<Entry> LookupUncommitted(const std::shared_ptr<ChunkTree>& tree,
                                         const ChunkRef& chunk);
  Result<std::optional<Entry>> LookupWritten(const ChunkId& id, const ChunkRef& chunk, NodeUse use);
  void DropArithmetic(NodeId node);
  std::optional<Entry> ReferArithmetic(const std::shared_ptr<ChunkTree>& tree,
                                       const ChunkRef& chunk);

  Result<Entry> AttributesOfTableNode(const TableNode& node);
  Result<FilePiece> ReadTableNode(const TableNode& node, std::uint64_t offset, std::uint64_t size);

  struct Listing {
    NodeId node;
    std::uint64_t cookie;
    bool with_attributes;
    const DirectoryVisitor& visitor;
    ListMode mode;
  };
  Status ListDirectory(const DirectoryTarget& directory, const Listing& listing);
  Status ListGridDirectory(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                           const Listing& listing);
  Status ListControl(const Listing& listing);
  Status ListPlainDirectory(const std::string& path, const Listing& listing);
  static bool ListDots(std::uint64_t inode, const Listing& listing);
  using NameFilter = std::function<bool(std::string_view)>;
  using NameCollector = std::function<Status(std::vector<DirectorySnapshots::Name>&)>;
  Status ListSnapshot(const std::string& path, const NameCollector& collect, const Listing& listing,
                      bool& more);
  Status ListSourceNames(const std::string& path, const std::string& shown_as,
                         const DirectoryOverlay& special, const NameFilter& shown,
                         const Listing& listing, bool& more);
  Status ListScratchDirectory(const TableNode& node, const Listing& listing);
  // Whether a listing of a directory has no names. Not asked of directories that are the source's
  // alone.
  Result<bool> IsEmpty(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in);
  Result<bool> IsEmpty(const DirectoryTarget& directory);
  Status ListTree(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                  std::uint64_t base_cookie, const Listing& listing, bool& more);
  std::optional<Entry> FreeEntry(const std::shared_ptr<ChunkTree>& tree,
                                 const ChunkTree::Match& match);
  std::uint64_t InodeOf(const ChunkTree& tree, const ChunkTree::Match& match) const;

  bool RefreshTree(const std::shared_ptr<ChunkTree>& tree, const ChangeWatcher::Event& event,
                   KernelNotifier& notifier);
  void TellChange(const std::shared_ptr<ChunkTree>& tree, const ShardSet::Change& change,
                  KernelNotifier& notifier);
  void RefreshDirectories(const std::shared_ptr<ChunkTree>& tree, const std::string& key,
                          bool drop_names, KernelNotifier& notifier);
  void RefreshAllDirectories(const std::shared_ptr<ChunkTree>& tree, KernelNotifier& notifier);
  void TellFirstLevel(const std::shared_ptr<ChunkTree>& tree, KernelNotifier& notifier);
  void TellListings(const ChunkTree& tree, GridDirectory in, KernelNotifier& notifier);
  void TellDirectories(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                       KernelNotifier& notifier);
  std::optional<NodeId> KnownNode(const ChunkTree& tree, const GridDirectory& in) const;
  void RefreshPath(const std::string& path, KernelNotifier& notifier);
  void RefreshDocuments(const std::string& directory, KernelNotifier& notifier);
  void RefreshListing(const std::string& path, KernelNotifier& notifier);

  [[nodiscard]] static bool IsHidden(const DirectoryOverlay& overlay, std::string_view name);
  [[nodiscard]] static bool IsHidden(const ChunkTree& tree, const GridDirectory& in,
                                     std::string_view name);
  [[nodiscard]] Entry Missing() const;
  [[nodiscard]] std::uint64_t Timeout() const;
  [[nodiscard]] std::uint64_t NameTimeout() const;
  [[nodiscard]] timespec ModifiedOf(const std::string& store_directory) const;
  [[nodiscard]] timespec ShownTime(const ChunkTree& tree, const ChunkRef& chunk,
                                   const ShardGeneration& generation) const;
  Result<Entry> AttributesOfLiveFile(const TableNode& node) const;
  Result<Entry> SetLiveAttributes(const TableNode& node, OpenFile* file,
                                  const AttributeChange& change);
  Entry LiveEntry(const TableNode& node, const FileStatus& status) const;

  // What a name in a directory stands for, to who wants to change it.
  struct Place {
    enum class Kind {
      kChunk,
      kNoChunk,        // shaped like a chunk's name, and there is no such chunk
      kGridDirectory,  // of a tree
      kDocument,       // metadata that are shown rewritten
      kScratch,
      kSource,     // a file or directory of the source
      kForbidden,  // shards, control files
    };
    Kind kind = Kind::kForbidden;
    std::string directory;  // that the name is in, below the mount point
    std::string name;
    NodeId parent = 0;
    std::shared_ptr<ChunkTree> tree;
    ChunkRef chunk;
    bool gzipped = false;
    // kSource: a document of a dataset that is shown as it is stored.
    bool plain_document = false;
    GridDirectory grid;  // kGridDirectory: it; kChunk: the directory of the chunk
    [[nodiscard]] std::string path() const { return JoinPath(directory, name); }
  };
  Result<Place> PlaceOf(NodeId parent, std::string_view name);
  Result<Place> PlaceInTree(Place place, const std::shared_ptr<ChunkTree>& tree,
                            const GridDirectory& in);
  Result<Place> PlaceBesideDirectories(Place place, const GridDirectory& in);
  Result<Place> PlaceInDirectory(Place place, const DirectoryTarget& directory);
  static tl::unexpected<Error> Refuse(const Place& place);

  struct SeenChunk {
    std::shared_ptr<ChunkTree> tree;
    ChunkRef chunk;
    WrittenVersionPtr version = nullptr;  // the latest; null where the store has the say
    bool current = false;                 // the node stands for what readers are shown now
  };
  [[nodiscard]] bool CountOpen(NodeId node, const ChunkContent& content);
  Result<Entry> AttributesNow(NodeId id);
  std::optional<SeenChunk> ChunkOf(NodeId node, const TablePtr& table) const;
  std::shared_ptr<StagedInode> StagedAt(NodeId node, const TablePtr& table) const;
  Result<OpenFilePtr> OpenChunk(NodeId node, const SeenChunk& seen, const OpenRequest& request,
                                const TablePtr& table);
  Result<OpenFilePtr> OpenForWriting(NodeId node, const SeenChunk& seen, const OpenRequest& request,
                                     const TablePtr& table);
  Result<ContentPtr> ContentAt(NodeId node, const SeenChunk& seen, const TablePtr& table);
  Result<OpenFilePtr> OpenTaken(NodeId node, const ChunkId& id,
                                const std::shared_ptr<StagedInode>& staged,
                                const OpenRequest& request);
  Result<OpenFilePtr> TakeOver(NodeId node, const ChunkId& id,
                               const std::shared_ptr<StagedInode>& staged,
                               const OpenRequest& request);
  tl::unexpected<Error> Join(const ChunkId& id, const std::shared_ptr<StagedInode>& staged,
                             NodeId node, const OpenRequest& request);
  tl::unexpected<Error> SendAway(const ChunkId& id, NodeId node, const OpenRequest& request);
  Result<OpenFilePtr> OpenOnce(NodeId id, const OpenRequest& request, const TablePtr& table);
  [[nodiscard]] bool CameWithoutName(NodeId node, const OpenRequest& request,
                                     const TablePtr& table) const;
  std::shared_ptr<StagedInode> JoinableWriter(const Place& place);
  Result<OpenFilePtr> OpenStaged(NodeId node, const std::shared_ptr<StagedInode>& staged,
                                 const OpenRequest& request);
  Result<OpenFilePtr> OpenLive(const TableNode& node, const OpenRequest& request);
  OpenFilePtr OpenSource(const TableNode& node, std::shared_ptr<File> file,
                         const OpenRequest& request);
  Result<OpenFilePtr> OpenPlainDocument(const TableNode& node, const std::string& path,
                                        const OpenRequest& request);
  Result<OpenFilePtr> OpenDocument(const TableNode& node, const DocumentTarget& document,
                                   const OpenRequest& request);
  Result<std::shared_ptr<StagedInode>> StageChunk(const Place& place, bool truncate);
  Result<Created> CreateChunk(const Place& place, const OpenRequest& request);
  Result<Created> CreateScratch(const Place& place, const OpenRequest& request);
  Status MakeShownDirectory(const std::string& path);
  Result<Created> CreateInSource(const Place& place, const OpenRequest& request);
  Entry AttributesOfStaged(NodeId node, const std::shared_ptr<StagedInode>& staged) const;
  [[nodiscard]] std::uint32_t LinksOf(const std::shared_ptr<StagedInode>& staged) const;
  [[nodiscard]] bool BareNameIsRemembered(const Place& place);
  void DropBareName(const ChunkTree& tree, const ChunkRef& chunk);
  void AwaitDrop(const ChunkTree& tree, const ChunkRef& chunk);
  void SetShownTime(const SeenChunk& seen, const timespec& modified);
  Result<Entry> SetChunkAttributes(NodeId node, const SeenChunk& seen,
                                   const AttributeChange& change, pid_t thread);
  Result<Entry> TruncateChunk(NodeId node, std::uint64_t size, pid_t thread);
  Status CompleteLive(NodeId id, File& file);
  [[nodiscard]] std::uint64_t InodeOfChunk(const std::shared_ptr<ChunkTree>& tree,
                                           const ChunkRef& chunk) const;

  Status RenameScratch(const Place& from, const Place& to, bool replace);
  Status RenameChunk(const Place& from, const Place& to, bool replace);
  Status RenameInSource(const Place& from, const Place& to, bool replace);
  Status RenameSourceFileToScratch(const Place& from, const Place& to, bool replace);
  Status RenameOntoPlainDocument(const Place& from, const Place& to, bool replace);
  Status RenameSourceFileOnto(const Place& from, const Place& to, bool replace);
  Status PutOnto(const std::shared_ptr<StagedInode>& staged, const Place& to, bool replace);
  Status RemoveChunk(const Place& place);
  void Detach(const ChunkId& id, const StagedInode::Purpose& purpose);
  [[nodiscard]] bool MayBeRemembered(const Place& chunk) const;
  timespec TimeOfChunk(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk) const;
  [[nodiscard]] std::string PathOfDirectory(const std::shared_ptr<ChunkTree>& tree,
                                            const GridDirectory& in) const;
  Status MustBeNew(const Place& place);
  Status RemoveDirectoryAt(const Place& place);

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

  // Of writable mounts.
  Writing writing_;
  ScratchFiles scratch_;
  RemovedDirectories removed_;
  DirectoryMoves directory_moves_;
  ChunkWriters writers_;
  NodeChoice choice_;
  OpenVersions open_versions_;
  std::atomic<std::uint64_t> own_nodes_{0};
  std::atomic<std::uint64_t> next_staged_{0};
  mutable std::mutex times_mutex_;
  // Modification times that were given to chunks which are as they are in the store.
  // They hold until somebody else replaces the shard: for this generation count.
  struct GivenTime {
    timespec modified{};
    std::uint32_t generation_count = 0;
  };
  std::map<std::string, GivenTime> times_;  // guarded by times_mutex_
  std::mutex links_mutex_;                  // one link at a time gives a chunk its name
  std::unique_ptr<MetadataDocuments> documents_;
  std::unique_ptr<StagedFiles> staged_files_;
  std::unique_ptr<ChunkWrites> writes_;  // goes first: its threads use all the others
};

}  // namespace unshard
