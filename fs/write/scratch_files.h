// Scratch files and directories: names in chunk directories that are not names of chunks, from
// their creation until they are renamed onto a chunk, removed, or the mount ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "fs/write/staged_inode.h"

namespace unshard {

// A directory that a program made for its temporary files. Everything in it is scratch.
struct ScratchDirectory {
  const std::uint64_t number;  // of all scratch directories of this mount; never used again
  const timespec made;
  std::optional<std::string> path;  // guarded by ScratchFiles; nothing once it is removed
};
using ScratchDirectoryPtr = std::shared_ptr<ScratchDirectory>;

// Thread-safe. Directories are named by their path below the mount point. A file may have several
// names, a directory has one.
class ScratchFiles {
 public:
  using StagedPtr = std::shared_ptr<StagedInode>;
  // Files are bounded by the spool they are in, directories by this.
  static constexpr std::size_t kMaxDirectories = 65536;

  // The file or the directory of a name, or neither.
  struct Found {
    StagedPtr file;
    ScratchDirectoryPtr directory;
    explicit operator bool() const { return file || directory; }
  };
  [[nodiscard]] Found Find(const std::string& directory, std::string_view name) const;
  // Nothing once the directory is removed.
  [[nodiscard]] std::optional<std::string> PathOf(const ScratchDirectory& directory) const;
  // A name of a file; nothing where it has none.
  [[nodiscard]] std::optional<std::string> PathOf(const StagedInode& staged) const;

  // False where the name is taken.
  bool Add(const std::string& directory, std::string_view name, const StagedPtr& staged);
  // Fails with EEXIST where the name is taken, and with ENOSPC where there are kMaxDirectories.
  Result<ScratchDirectoryPtr> MakeDirectory(const std::string& directory, std::string_view name);
  // Null where there is no such file.
  StagedPtr Remove(const std::string& directory, std::string_view name);
  // Fails with ENOENT, ENOTDIR or ENOTEMPTY.
  Status RemoveDirectory(const std::string& directory, std::string_view name);
  // Replaces the file or directory of the new name in one step; a directory moves with its
  // contents. Fails with ENOENT where the old name is gone, with EISDIR, ENOTDIR or ENOTEMPTY where
  // the new one cannot be replaced, and with EINVAL where it is inside the directory.
  Status Rename(const std::string& from, std::string_view name, const std::string& to,
                std::string_view new_name);

  struct Name {
    std::string name;
    bool directory = false;
  };
  [[nodiscard]] std::vector<Name> Names(const std::string& directory) const;
  // The names in `directory` that lead to scratch files further below.
  [[nodiscard]] std::set<std::string> NamesAbove(const std::string& directory) const;
  // How many scratch files there are, and the paths of the first `most` of their names.
  [[nodiscard]] std::pair<std::uint64_t, std::vector<std::string>> Files(std::size_t most) const;
  // How many names a file has.
  [[nodiscard]] std::uint64_t Links(const StagedInode& staged) const;

 private:
  using NamesIn = std::map<std::string, Found, std::less<>>;
  [[nodiscard]] Found FindLocked(const std::string& directory, std::string_view name) const;
  void Erase(const std::string& directory, std::string_view name);
  void DropLink(const StagedInode& staged);
  void MovePaths(const std::string& from, const std::string& to);

  mutable std::mutex mutex_;
  std::map<std::string, NamesIn> directories_;  // guarded by mutex_; none of them empty
  // How many names each file has in these; none of them 0. Guarded by mutex_.
  std::unordered_map<const StagedInode*, std::uint64_t> links_;
  std::size_t directory_count_ = 0;  // guarded by mutex_
  std::uint64_t last_number_ = 0;    // guarded by mutex_
};

}  // namespace unshard
