// The file system without any FUSE type: the source's tree with shards replaced by chunk files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/kernel_invalidation.h"
#include "fs/tree/entry.h"
#include "fs/tree/name.h"
#include "fs/tree/superblock.h"

namespace unshard {

// kKept: the kernel keeps listings of the directory, and the last one is right. kKeptAnew: it keeps
// them from now on.
enum class ListingUse { kNotKept, kKeptAnew, kKept };

// Each request of the kernel as a method, which resolves the node and passes the request on to it.
// Thread-safe. Failures are not logged here: the caller reports each failed request once, with
// Report(). StaleName() (fs/common/request_failures.h) is no error and not reported.
struct NeededOpens {
  bool of_files = true;
  bool of_directories = true;
};

class VolumeFs {
 public:
  using Writing = WriteNotifications;
  using DirectoryVisitor = unshard::DirectoryVisitor;
  using Created = unshard::Created;

  // `drop_listing`: has the kernel drop a listing that it keeps, soon; null: it keeps none.
  VolumeFs(std::unique_ptr<Volume> volume, const MountOptions& options,
           std::function<void(NodeId directory)> drop_listing = nullptr)
      : superblock_(std::move(volume), options) {
    superblock_.drop_listing = std::move(drop_listing);
  }

  // For a writable volume: call it once, before requests come.
  void StartWriting(Writing writing) { superblock_.StartWriting(std::move(writing)); }

  // Held by a request until its answer has reached the kernel.
  [[nodiscard]] RequestEpoch::Ticket BeginRequest() { return superblock_.epoch.Enter(); }
  // Returns once the requests that are running have been answered. For the invalidating thread.
  void AwaitAnswers() { superblock_.epoch.WaitForRunning(); }

  // Adds one reference of the kernel's to the node it answers with. `thread` is the caller's
  // (fs/write/open_writers.h).
  Result<Entry> Lookup(NodeId parent, std::string_view name, pid_t thread = 0);
  void Forget(NodeId node, std::uint64_t references) { superblock_.Forget(node, references); }
  Result<Entry> GetAttributes(NodeId node);
  Result<FilePiece> Read(NodeId node, std::uint64_t offset, std::uint64_t size);
  // The requests that the kernel has to send: of a read-only mount OPEN where Load() has anything
  // to do, OPENDIR where directories have no time of their own by which it would notice a change.
  [[nodiscard]] NeededOpens needed_opens() const;
  // OPEN on a read-only mount: reads the chunk, where its store does not keep replaced versions.
  // Returns what becomes of the pages of the node; StaleName() where its version is gone.
  Result<PageUse> Load(NodeId node);
  // Names after `cookie` (0: all) until the visitor returns false.
  Status ReadDirectory(NodeId node, std::uint64_t cookie, bool with_attributes,
                       const DirectoryVisitor& visitor);
  // OPENDIR: whether the kernel may keep the listing.
  [[nodiscard]] ListingUse OpenDirectory(NodeId node);
  // The value of user.unshard.*; nothing where the node has no such attribute.
  Result<std::optional<std::string>> GetExtendedAttribute(NodeId node, std::string_view name);
  [[nodiscard]] std::vector<std::string> ListExtendedAttributes(NodeId node);

  // Of writable mounts.
  Result<OpenFilePtr> Open(NodeId node, const OpenRequest& request);
  Result<Created> Create(NodeId parent, std::string_view name, const OpenRequest& request);
  // mknod(2) of a regular file, which is empty and open nowhere: EPERM for a chunk.
  Result<Entry> MakeFile(NodeId parent, std::string_view name, pid_t thread, mode_t mode);
  // Counts the bytes.
  Status Write(OpenFile& file, std::uint64_t offset, ByteSpan bytes);
  // Commits the written bytes, where `thread` belongs to the process that opened the file. A close
  // by another process, which has inherited the file, commits nothing: the opener goes on writing.
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
  Result<Entry> MakeDirectory(NodeId parent, std::string_view name, mode_t mode);
  Status RemoveDirectory(NodeId parent, std::string_view name, pid_t thread = 0);
  // Publishes all that was committed before the call.
  Status FlushAll();
  // The mount is ending: waits less long for shards that other writers have locked.
  void End();
  [[nodiscard]] bool writable() const { return superblock_.writable(); }
  [[nodiscard]] std::optional<SpoolStatus> write_status() const {
    return superblock_.write_status();
  }

  // Revalidates what may have changed under `event`, and notifies the kernel. Returns what has to
  // be refreshed again: see KernelInvalidation.
  std::vector<std::string> Refresh(const ChangeWatcher::Event& event, KernelNotifier& notifier) {
    return KernelInvalidation(superblock_, notifier).Refresh(event);
  }

  // Requests on .unshard are not counted.
  [[nodiscard]] static bool IsControl(NodeId node) { return IsControlNode(node); }
  // `name`: in the directory `node`; "": the node itself.
  void Report(std::string_view operation, NodeId node, std::string_view name, const Error& error) {
    superblock_.Report(operation, JoinPath(superblock_.PathOf(node), name), error);
  }

  [[nodiscard]] Superblock& superblock() { return superblock_; }
  [[nodiscard]] const MountOptions& options() const { return superblock_.options; }
  [[nodiscard]] Counters& counters() { return superblock_.counters; }
  [[nodiscard]] Volume& volume() { return *superblock_.volume; }

 private:
  // A name in a directory, and the directory's node, which outlives it.
  struct NamedIn {
    NodePtr directory;
    NamePtr name;
    Name* operator->() const { return name.get(); }
    Name& operator*() const { return *name; }
  };
  Result<NamedIn> Find(NodeId parent, std::string_view name);

  Superblock superblock_;
};

}  // namespace unshard
