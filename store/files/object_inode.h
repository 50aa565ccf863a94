// One file of an object store, as the programs of this mount see it: the bytes of an object, and
// what has been written since, which is staged in the spool.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "store/local/file_system.h"
#include "store/object/object_store.h"
#include "store/spool/spool.h"

namespace unshard {

// What the store has under a key, as the seal of a whole file says it: its length, and the checksum
// of its validator.
ChunkFingerprint StoredPrint(const std::optional<ObjectInfo>& stored);

// Thread-safe. Its lock is held across I/O on its own bytes: writes to one file wait for each other
// and for its commit. Reads of a version of the store and Stat() wait for neither.
class ObjectInode {
 public:
  // The version that it begins with; null: no bytes. `first`: the bytes at its start that are known
  // already.
  struct Base {
    std::shared_ptr<ObjectVersion> version;
    Bytes first;
  };
  // What its key has in the store: what it was opened with, or was put as since.
  struct InStore {
    std::optional<Generation> generation;  // nothing: its bytes are those of no version there
    ChunkFingerprint print;
  };
  // `number`: st_ino.
  ObjectInode(std::shared_ptr<Spool> spool, std::uint64_t number, std::string key, Base base,
              const timespec& modified, InStore in_store);

  // Fills `to` from `offset`; the count is smaller only where the file ends. kConflict where the
  // object has been replaced, and its bytes are no longer there to be read.
  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to);
  // Downloads the object before the first write, since it is put whole. ENOSPC as of
  // StagedFile::Write.
  Status Write(std::uint64_t offset, ByteSpan bytes);
  Status Append(ByteSpan bytes);
  Status Truncate(std::uint64_t size);
  void SetModified(const timespec& modified);
  // Copies all bytes into the spool, so that they can be committed under another name.
  Status StageAll();
  // As of the last change that was made: does not wait for I/O.
  [[nodiscard]] FileStatus Stat() const;
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // The key under which it is found; the last one where it is unlinked.
  [[nodiscard]] std::string key() const;
  void SetKey(const std::string& key);

  [[nodiscard]] InStore in_store() const;
  void SetInStore(const InStore& in_store);
  // Programs have set its time, or its bytes.
  [[nodiscard]] bool changed() const { return changed_; }
  // Open files on it. Changed by FileTable::Update only.
  std::atomic<std::uint64_t> opens{0};

  // It has changed since its last commit. Does not wait for I/O.
  [[nodiscard]] bool dirty() const { return dirty_ && !unlinked_; }
  // A new file is to be committed although nothing was written to it.
  void MarkDirty() { changed_ = dirty_ = true; }
  // Runs `commit` on the staged bytes, with writes locked out, where it is dirty. Where it succeeds
  // they are sealed: a later write begins with a copy of them.
  Status CommitWith(const std::function<Status(StagedFile& staged)>& commit);
  // Its name is gone, or another file has taken it: what is written is dropped.
  void Unlink() { unlinked_ = true; }
  [[nodiscard]] bool unlinked() const { return unlinked_; }

 private:
  Result<std::size_t> ReadBase(const Base& base, std::uint64_t offset,
                               std::span<std::uint8_t> to) const;
  // All of these with mutex_ held.
  [[nodiscard]] std::uint64_t Size() const;
  Result<std::size_t> ReadNow(std::uint64_t offset, std::span<std::uint8_t> to) const;
  Status OwnBytes(std::uint64_t kept);
  Status WriteNow(std::uint64_t offset, ByteSpan bytes);
  void Changed();

  const std::shared_ptr<Spool> spool_;
  const std::uint64_t number_;
  mutable std::mutex key_mutex_;
  std::string key_;     // guarded by key_mutex_
  InStore in_store_;    // likewise
  std::uint64_t size_;  // likewise; that of the bytes
  timespec modified_;   // likewise
  mutable std::mutex mutex_;
  Base base_;                           // guarded by mutex_, like all below
  std::shared_ptr<StagedFile> staged_;  // null: `base_` has the bytes
  bool sealed_ = false;                 // staged_ belongs to a committed version
  std::atomic<bool> changed_{false};
  std::atomic<bool> dirty_{false};
  std::atomic<bool> unlinked_{false};
};

}  // namespace unshard
