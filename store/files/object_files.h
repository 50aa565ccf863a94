// The files of an object store that can be written: everything in a source that is no shard.
//
//   1. Programs write into files that are staged in the spool. A file of the store is downloaded
//      before its first change, since it is put whole; if it is truncated, only what it keeps.
//   2. close(2) and fsync(2) commit: the staged bytes are sealed in the spool, where they survive
//      the end of the process, and from there on all that reads through the mount has them.
//   3. After a pause without further commits, or when a caller waits for it, the file is put under
//      its key on the condition that the key has what it had when the file was opened
//      (store/files/file_publishing.h). A temporary file that is renamed onto its target before
//      that never reaches the store.
//   4. As long as the store is away files wait in the spool, as chunks do. Where it is not known
//      whether a name is there, a file that is emptied when it is opened, or renamed onto it,
//      replaces whatever it turns out to be.
// A rename commits the bytes under the new name and a removal of the old one. Directories exist as
// long as something is in them, and those that a program has made until the mount ends.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "store/files/file_table.h"
#include "store/files/object_inode.h"
#include "store/files/recent_stats.h"
#include "store/local/file_system.h"
#include "store/object/object_replacement.h"
#include "store/object/object_store.h"

namespace unshard {

// Thread-safe. Renames of directories are refused with EXDEV.
class ObjectFiles final : public FileSystem, public std::enable_shared_from_this<ObjectFiles> {
 public:
  // `ttl`: for how long an answer of the store about a name is reused.
  ObjectFiles(std::shared_ptr<ObjectStore> store, std::shared_ptr<ObjectReplacer> replacer,
              std::chrono::milliseconds ttl);

  // How it commits; set once, before it is used.
  struct Committing {
    std::shared_ptr<Spool> spool;
    // The file with this number in the queue is to be put.
    std::function<void(std::uint64_t number, std::int64_t files, std::int64_t bytes)> add_dirty;
    // Returns once the file with this number survives a power loss in the store; null: fsync
    // returns once it does in the spool.
    std::function<Status(std::uint64_t number)> flush;
    // What is under a key has changed. Must not wait.
    std::function<void(const std::string& key)> changed;
  };
  void Start(Committing committing);

  // A file that waited under `path` no longer does, though it was not put: it does not count.
  void Withdrawn(const std::string& path, const WaitingFile& file) {
    committing_.add_dirty(table_->QueueNumber(path), -1,
                          -static_cast<std::int64_t>(file.chunk.size));
  }

  // The source, overlaid with the files that wait to be put.
  [[nodiscard]] const std::shared_ptr<ObjectStore>& over() const { return over_; }
  [[nodiscard]] FileTable& table() const { return *table_; }
  [[nodiscard]] ObjectStore& store() const { return *store_; }
  [[nodiscard]] ObjectReplacer& replacer() const { return *replacer_; }

  Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) override;
  Result<std::optional<FileStatus>> Stat(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  // A copy of a file that was created through this mount, for programs that link a temporary file
  // to its name so as not to replace another; EPERM for others.
  Status Link(const std::string& from, const std::string& to) override;
  Result<bool> Remove(const std::string& path) override;
  using FileSystem::MakeDirectory;
  Result<bool> MakeDirectory(const std::string& path, std::uint32_t mode) override;
  Status SyncDirectory(const std::string& path) override;
  Status List(const std::string& path,
              const std::function<bool(std::string_view name)>& visitor) override;
  Result<std::uint64_t> FreeBytes() override;
  [[nodiscard]] std::string Describe(const std::string& path) const override;

  // Stores these bytes as the file, durably, under the conditions of a rename onto it: until it
  // returns, and where it fails, readers have the file from before. What is open keeps its bytes.
  Status Replace(const std::string& path, ByteSpan bytes);
  // What the store has under a key was changed by this mount.
  void StoreChanged(const std::string& path) { recent_.Forget(path); }
  // Takes up a file that an earlier mount has left in a spool.
  void Adopt(const WaitingPtr& file);

 private:
  class OpenObject;
  using InodePtr = std::shared_ptr<ObjectInode>;
  using OpenPtr = std::shared_ptr<OpenObject>;
  // What is wanted of a file that is opened: its bytes, or only its name.
  enum class Wanted { kBytes, kName };
  // What the store has under a key, and whether that is a directory.
  struct InStorePrint {
    ChunkFingerprint print;
    bool directory = false;
  };

  // Null where programs see no file at `path`.
  Result<OpenPtr> OpenExisting(const std::string& path, Wanted wanted);
  Result<InodePtr> InodeOfWaiting(const std::string& path, const FileState& state);
  Result<InodePtr> InodeOfStored(const std::string& path, Wanted wanted, const FileState& state);
  OpenPtr Create(const std::string& path);
  // An empty file that is to be committed. `before`: the state of its path.
  InodePtr NewInode(const std::string& path, const FileState& before);
  // The one inode that the table has for `path`, with one more open file: `made`, unless it has
  // another one of the same version. Null where what waits is no longer what it was in `known`.
  OpenPtr Enter(const std::string& path, const InodePtr& made, const FileState& known);
  void Release(const InodePtr& inode);
  [[nodiscard]] Result<std::optional<ObjectInfo>> Stored(const std::string& path) const;
  // Of a file that this mount replaces whatever the store has: unknown where that is away.
  [[nodiscard]] Result<InStorePrint> StoredOrUnknown(const std::string& path) const;

  // Commits what was written to a file; nothing where it has no name any more.
  Status Commit(const InodePtr& inode);
  // The same, durably.
  Status Sync(const InodePtr& inode);
  Status SyncWaiting(const WaitingPtr& waiting, std::uint64_t number) const;
  Status Move(const OpenPtr& file, const std::string& from, const std::string& to);
  Result<bool> RemoveDirectory(const std::string& path);
  // With names_mutex_ held. Seals `staged`, or a removal (null), as the latest version of `path`,
  // where the store has `stored`.
  Result<WaitingPtr> SealLocked(const std::string& path, StagedFile* staged,
                                const ChunkFingerprint& stored);
  Status RemoveLocked(const std::string& path, const ChunkFingerprint& stored);
  // The name is that of `inode` from now on; the file that had it is unlinked.
  void TakeNameLocked(const std::string& path, const InodePtr& inode);
  void Changed(const std::string& path) const;

  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<ObjectReplacer> replacer_;
  const std::shared_ptr<FileTable> table_;
  const std::shared_ptr<ObjectStore> over_;
  Committing committing_;
  RecentStats recent_;
  std::atomic<std::uint64_t> last_inode_{0};
  // Held while a name gets another file, or another version, so that seals follow each other in the
  // order of their sequences. May be taken while the mutex of an inode is held, never the other
  // way.
  std::mutex names_mutex_;
};

}  // namespace unshard
