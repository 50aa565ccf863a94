// The folder in which writable volumes have their spools: taking over what processes that have
// ended left there of the same source, and making a new one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/local/file_system.h"
#include "store/local/posix_file_system.h"
#include "store/source/volume_options.h"
#include "store/spool/spool.h"

namespace unshard {

struct OpenedSpools {
  std::shared_ptr<FileSystem> folder;
  std::vector<std::shared_ptr<Spool>> spools;
  std::vector<std::string> paths;  // where they are, in the same order
};

// Where spools are by default: below the user's folder for state that outlives a restart
// ($XDG_STATE_HOME, else ~/.local/state), and below /var/lib where there is no home.
std::string DefaultSpoolFolder();

// Makes the folder where it is missing, for its owner alone (0700), and durable. The first spool is
// this process's own: left behind by another process, or new. What was left of another source with
// the same path is not touched; a line in the log says so. Fails, naming the folder, where there
// can be none, and where the folder is another user's or others may enter it.
Result<OpenedSpools> OpenSpools(const VolumeOptions& options);

// Removes the spools that hold nothing any more. To be called while they are still open, so that
// no other process takes them over meanwhile.
void RemoveEmptySpools(const OpenedSpools& opened);

// Removes a spool that a process which has ended left in the folder, if it holds nothing that is to
// be published, examined or settled with the store: its source need not be there any more. False
// where it holds something, or another process takes it over.
Result<bool> RemoveEmptySpool(FileSystem& folder, const FoundSpool& left);

// What a process that has ended left in a spool: its chunks at or below a source.
struct LeftChunks {
  std::string path;    // of the spool
  std::string source;  // that was mounted: the same, or a directory above or below it
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
// Those of this source, without spools that hold none. Writes nothing.
std::vector<LeftChunks> ChunksLeftBehind(const VolumeOptions& options);

}  // namespace unshard
