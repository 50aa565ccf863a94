// What a mount knows of the files of an object store beyond the store: those that are open, those
// that were committed and wait to be put, those that were removed, and directories, of which the
// store knows only what is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/files/object_inode.h"
#include "store/object/object_store.h"
#include "store/object/time_now.h"
#include "store/spool/spool.h"

namespace unshard {

// A committed version of a file, or its removal, in a spool.
struct WaitingFile {
  std::shared_ptr<Spool> spool;
  SpooledChunk chunk;
  bool adopted = false;  // an earlier mount has committed it: what another host puts since is later
  [[nodiscard]] bool removed() const { return chunk.removed; }
};
using WaitingPtr = std::shared_ptr<const WaitingFile>;

// The bytes of a waiting file.
ChunkFingerprint ContentPrint(const WaitingFile& file);
// The key of a sealed whole file.
std::string KeyOf(const SpooledChunk& chunk);

struct FileState {
  std::shared_ptr<ObjectInode> inode;  // null: no program has it open
  WaitingPtr waiting;                  // the latest version, unless the store has it
  WaitingPtr publishing;               // a version that is being put now
  // An earlier version of this mount has been put since `waiting` was sealed.
  std::optional<ChunkFingerprint> also_stored;
  std::uint64_t queued = 0;  // number in the queue of publishes
  // The attributes that programs have seen, where the store would say others.
  struct Remembered {
    std::optional<Generation> generation;  // of the version that has them; nothing: `waiting`
    std::uint64_t inode = 0;
    timespec modified{};
  };
  std::optional<Remembered> remembered;

  // Programs see a file of this mount here, or none: the store need not be asked.
  [[nodiscard]] bool is_removed() const { return !inode && waiting && waiting->removed(); }
  [[nodiscard]] bool is_own() const {
    return (inode && inode->dirty()) || (waiting && !waiting->removed());
  }
};

// Thread-safe; no I/O.
class FileTable {
 public:
  // The time of directories of which the store knows nothing.
  [[nodiscard]] const timespec& begun() const { return begun_; }
  // A default state where nothing is known of the key.
  [[nodiscard]] FileState Find(const std::string& key) const;
  // Changes the state of a key under the lock; a state that equals the default one is dropped.
  void Update(const std::string& key, const std::function<void(FileState& state)>& change);
  // The number of a key in the queue of publishes, and back.
  std::uint64_t QueueNumber(const std::string& key);
  [[nodiscard]] std::optional<std::string> KeyOfNumber(std::uint64_t number) const;

  // Whether a file of this mount is below a directory.
  [[nodiscard]] bool HasFileBelow(const std::string& directory) const;
  // Names directly in a directory that this mount has made, or removed, itself.
  enum class Shown { kFile, kDirectory, kRemoved };
  [[nodiscard]] std::map<std::string, Shown> NamesIn(const std::string& directory) const;
  // All files, directly in a directory, that wait.
  struct Queued {
    std::uint64_t number = 0;
    WaitingPtr file;
  };
  [[nodiscard]] std::vector<Queued> WaitingIn(const std::string& directory) const;

  // A directory that exists although nothing is in it.
  void MakeDirectory(const std::string& directory);
  // Hides a directory that was removed: keys of the store that are below it wait to be removed.
  void RemoveDirectory(const std::string& directory);
  [[nodiscard]] bool IsMade(const std::string& directory) const;
  [[nodiscard]] bool IsHidden(const std::string& directory) const;

 private:
  // All with the mutex held.
  [[nodiscard]] bool HasFileBelowLocked(const std::string& directory) const;
  void Show(const std::string& key);
  void Unhide(const std::string& key);
  void ForgetOldest();

  const timespec begun_ = TimeNow();
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::map<std::string, FileState> states_;
  std::deque<std::string> remembered_;  // the earliest first; some are forgotten already
  std::set<std::string> made_;
  std::set<std::string> hidden_;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::uint64_t, std::string> keys_;  // by number in the queue
};

}  // namespace unshard
