// The directory trees of this machine.
#pragma once

#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/local/file_system.h"
#include "store/object/own_mount.h"

namespace unshard {

// The modes of files and directories that are made: 0666 and 0777 less the process's umask, or 0600
// and 0700, whatever the umask, which stays what it is while the tree is open. A private tree is of
// this user alone: nothing but regular files and directories is in it.
enum class NewFiles { kShared, kPrivate };

// kOpenedEachTime: an operation on a name opens its directory anew, by its path beneath the root.
// kKeptOpen: the directories that were used last stay open, which saves two system calls each time;
// only for trees in which no other process renames directories, since a renamed directory would
// still be used.
enum class Directories { kOpenedEachTime, kKeptOpen };

// The directory `root` of this machine. Fails where it is no directory that can be opened. Nothing
// is asked of the mount `own`, also where it is below `root`.
Result<std::shared_ptr<FileSystem>> OpenPosixFileSystem(
    const std::string& root, NewFiles modes = NewFiles::kShared,
    std::shared_ptr<const OwnMount> own = nullptr,
    Directories directories = Directories::kOpenedEachTime);
// The directory `path` below the root of `files`, which is such a tree: by its descriptor, whatever
// has the path of that root by now. Fails like OpenPosixFileSystem.
Result<std::shared_ptr<FileSystem>> OpenBelow(
    FileSystem& files, const std::string& path, NewFiles modes,
    Directories directories = Directories::kOpenedEachTime);

}  // namespace unshard
