// Which file systems other hosts change unseen.
#pragma once

#include <string>

namespace unshard {

// True where inotify cannot see what other hosts do at `path`: NFS, SMB, FUSE, 9p, Lustre, GPFS and
// such; also where the file system is not known.
bool IsNetworkFileSystem(const std::string& path);
// The same of an open file; O_PATH is enough.
bool IsNetworkFileSystem(int descriptor);

}  // namespace unshard
