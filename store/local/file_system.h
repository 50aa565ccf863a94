// The few file operations that publishing and the spool are made of, below one root directory.
//
// All paths are keys (store/object/object_store.h). The real implementation is PosixFileSystem;
// tests put a simulated disk in its place that fails, tears, and forgets what was not synced.
// Nothing that has to survive a crash is written in any other way.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

struct FileStatus {
  enum class Kind { kFile, kDirectory, kOther };
  Kind kind = Kind::kFile;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t links = 0;
  std::uint32_t mode = 0;
  timespec modified{};
  timespec changed{};
  // Tells files apart that have had the same inode number, one after the other; 0 where the file
  // system does not know it.
  timespec born{};
};

// One open file. Its methods may be called from several threads at a time.
class File {
 public:
  virtual ~File() = default;
  // Fills `to` from `offset`; the count is smaller only where the file ends.
  virtual Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to) = 0;
  // Writes all of it. After a failure any part may have been written.
  virtual Status Write(std::uint64_t offset, ByteSpan bytes) = 0;
  // Writes all of it at the end of the file: after what others have appended meanwhile, and before
  // what they append later. After a failure any part may have been written.
  virtual Status Append(ByteSpan bytes) = 0;
  // Puts bytes of `source`, a file of the same implementation, at `offset`: by the kernel where it
  // can (copy_file_range), else through a small buffer. Fails with kDataLoss where the source ends
  // before the range does.
  virtual Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) = 0;
  // Makes this file share all bytes of `source` (FICLONE). False where the file system cannot.
  virtual Result<bool> CloneFrom(File& source) = 0;
  virtual Status Truncate(std::uint64_t size) = 0;
  // The modification time, as programs set it.
  virtual Status SetModified(const timespec& modified) = 0;
  // Sets the permission bits (0777). Set-user-id and set-group-id go, but not those of directories.
  virtual Status SetMode(std::uint32_t mode) = 0;
  // Removes set-user-id, set-group-id and capabilities, as the kernel does where a program writes
  // to a file. Nothing happens where this process may not do so.
  virtual void DropPrivileges() {}
  // Gives this file the permission bits of `source`, a file of the same implementation, and its
  // owner, group, access control list and extended attributes, as far as this process may.
  virtual Status TakeAttributesOf(File& source) = 0;
  // close(2), which may be one of several: from return on what was written survives the end of this
  // process, and is what others open. Nothing to do where writes go to the file itself.
  virtual Status Flush() { return {}; }
  // Returns once the bytes and the size are on the disk. After a failure nothing is known about any
  // byte written since the last success, and a later success says nothing about them either.
  virtual Status Sync() = 0;
  // A hint that Sync will be called, and nothing will be written before: the bytes may be on their
  // way to the disk meanwhile. What fails of that is a failure of Sync.
  virtual void StartSync() {}
  virtual Result<FileStatus> Stat() = 0;
  // The same as it was when the file was opened, or later: costs nothing where opening has read it.
  virtual Result<FileStatus> StatusAtOpen() { return Stat(); }
  // Waits for the exclusive lock of the open file description (F_OFD_SETLKW), which ends with this
  // object. With `wait` unset returns false where another process holds it.
  virtual Result<bool> Lock(bool wait) = 0;
  // For splicing; -1 where there is none.
  [[nodiscard]] virtual int descriptor() const = 0;
};

struct OpenFlags {
  bool write = false;      // reading is always possible
  bool create = false;     // with the mode that the file system gives
  bool exclusive = false;  // with create: fails with EEXIST where something is there
  bool truncate = false;
  // With create: the permission bits of a new file, less the umask of this process. Private file
  // systems give their own.
  std::uint32_t mode = 0666;
  // Neither read nor written, which this process need not be allowed to do: only Stat, SetModified
  // and SetMode work. Directories can be opened as well.
  bool attributes = false;
};

// Thread-safe. Every failure carries the errno and names the path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Null where nothing is there (and `create` is not set). Never follows a symbolic link that
  // leaves the root.
  virtual Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) = 0;
  virtual Result<std::optional<FileStatus>> Stat(const std::string& path) = 0;
  // Replaces `to`. Atomic to every observer; durable only after SyncDirectory of both parents.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // A second name for a file; EEXIST where `to` is there.
  virtual Status Link(const std::string& from, const std::string& to) = 0;
  // Removes a file or an empty directory. False where nothing was there.
  virtual Result<bool> Remove(const std::string& path) = 0;
  // False where it was there already. The parent has to exist. `mode`: as OpenFlags::mode.
  virtual Result<bool> MakeDirectory(const std::string& path, std::uint32_t mode) = 0;
  Result<bool> MakeDirectory(const std::string& path) { return MakeDirectory(path, 0777); }
  // Returns once names that were made, renamed or removed directly in this directory are on the
  // disk as they are now.
  virtual Status SyncDirectory(const std::string& path) = 0;
  // Returns once everything that was written, made, renamed or removed before, by whomever, is on
  // the disk (syncfs). For very many small files: one wait instead of one a file. kNotSupported
  // where files are no files of this machine.
  virtual Status SyncAll();
  // Calls `visitor` with each name until it returns false; any order. A missing directory is empty.
  virtual Status List(const std::string& path,
                      const std::function<bool(std::string_view name)>& visitor) = 0;
  // Bytes that an unprivileged writer can still store.
  virtual Result<std::uint64_t> FreeBytes() = 0;
  [[nodiscard]] virtual std::string Describe(const std::string& path) const = 0;
};

// Reads `range` of a file piece by piece, a MiB each, and gives the checksum of its bytes, which
// continues `sum`. `visit` gets each piece and how far it is from the start of the range; its
// failure ends the reading. kDataLoss where the file ends before the range does.
using PieceVisitor = std::function<Status(std::uint64_t at, ByteSpan piece)>;
Result<std::uint32_t> ReadWithChecksum(File& file, const ByteRange& range, std::uint32_t sum = 0,
                                       const PieceVisitor& visit = nullptr);

// Makes the directory `path` and all above it that are missing, each durable before the next.
Status MakeDirectories(FileSystem& files, const std::string& path);

// The names in a directory, in order; none where it is missing.
Result<std::vector<std::string>> SortedNames(FileSystem& files, const std::string& directory);

}  // namespace unshard
