// The meaning of a name in a directory when it is looked up, created, renamed, linked or removed:
// one class for each meaning, whether or not there is such a file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codec/core/error.h"
#include "fs/tree/entry.h"
#include "fs/tree/node.h"
#include "fs/write/open_file.h"

namespace unshard {

// A file that was created, and is open.
struct Created {
  Entry entry;
  OpenFilePtr file;
};

class ChunkName;
class ScratchName;
class SourceName;

// Made for one request and used by its thread. Operations that a class does not override are
// refused, with the errno that fits the meaning of the name.
class Name {
 public:
  // `directory` is the path of the directory below the mount point.
  Name(Superblock& superblock, std::string directory, std::string_view name)
      : superblock_(superblock), directory_(std::move(directory)), name_(name) {}
  virtual ~Name() = default;
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;

  [[nodiscard]] std::string path() const;
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // LOOKUP by `thread`: node 0 where there is no such file. Names that are refused are absent.
  virtual Result<Entry> Lookup(pid_t thread);

  // Of writable mounts. Modes matter to files and directories of the source alone.
  virtual Result<Created> Create(const OpenRequest& request);
  // mknod(2) of a regular file: it is created and closed.
  virtual Result<Entry> MakeFile(pid_t thread, mode_t mode);
  virtual Status Remove();
  virtual Result<Entry> MakeDirectory(mode_t mode);
  virtual Status RemoveDirectory(pid_t thread);
  // EEXIST where there is such a file.
  Status MustBeNew();

  // rename(2) from this name to `to`, which replaces an existing file if `replace` is set: calls
  // the one of the methods below that fits.
  virtual Status RenameTo(Name& to, bool replace);
  // A scratch file or directory, a chunk, or a file or directory of the source gets this name.
  virtual Status TakeScratch(const ScratchName& from, bool replace);
  virtual Status TakeChunk(const ChunkName& from, bool replace);
  virtual Status TakeSource(const SourceName& from, bool replace);
  // The same of a directory of chunks, which no name takes: EXDEV, so that mv(1) copies, or EPERM.
  virtual Status TakeGridDirectory(const std::string& from);
  // link(2): a file of the source, or a scratch file, gets this name as well.
  virtual Result<Entry> LinkSource(const std::string& existing);
  virtual Status LinkScratch(const std::shared_ptr<StagedInode>& staged);

 protected:
  [[nodiscard]] Superblock& superblock() const { return superblock_; }
  // LOOKUP of a directory that chunks belong into: what `lookup` finds, but nothing for the thread
  // that has removed the directory, as long as it is empty (fs/tree/removed_directories.h).
  Result<Entry> LookupRemovable(pid_t thread, const std::function<Result<bool>()>& is_empty,
                                const std::function<Result<Entry>()>& lookup) const;
  // Whether there is such a file; only asked where it could be created.
  virtual Result<bool> Exists() { return true; }
  // Why the name cannot be created, removed or replaced.
  [[nodiscard]] virtual tl::unexpected<Error> Refuse() const;

 private:
  Superblock& superblock_;
  const std::string directory_;
  const std::string name_;
};
using NamePtr = std::unique_ptr<Name>;

// A shard, its lock file, or a control file: absent, and never created.
class HiddenName final : public Name {
 public:
  using Name::Name;
};

// How to look a name up that has the shape of a chunk's, where there is no such chunk; null: it is
// absent.
using LookupOtherwise = std::function<Result<Entry>(pid_t thread)>;

// Shaped like the name of a chunk that the grid does not have.
class NoChunkName final : public Name {
 public:
  NoChunkName(Superblock& superblock, std::string directory, std::string_view name,
              LookupOtherwise otherwise)
      : Name(superblock, std::move(directory), name), otherwise_(std::move(otherwise)) {}
  Result<Entry> Lookup(pid_t thread) override;
  Status TakeChunk(const ChunkName& from, bool replace) override;

 protected:
  [[nodiscard]] tl::unexpected<Error> Refuse() const override;

 private:
  const LookupOtherwise otherwise_;
};

// Any name beside a metadata document that cannot be understood.
class BrokenName final : public Name {
 public:
  BrokenName(Superblock& superblock, std::string directory, std::string_view name, Error fault)
      : Name(superblock, std::move(directory), name), fault_(std::move(fault)) {}
  // Absent where the source has no such file; the fault otherwise.
  Result<Entry> Lookup(pid_t thread) override;

 protected:
  [[nodiscard]] tl::unexpected<Error> Refuse() const override;

 private:
  const Error fault_;
};

}  // namespace unshard
