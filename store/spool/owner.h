// Which process uses a spool: the file `owner` and its lock.
//
//   1. Open `owner` and take its lock without waiting. Unless the path still names the file that
//      is locked, another process has replaced it: start over.
//   2. Check that what it says fits.
//   3. Write what it shall say now to `owner.new`, lock that, sync it, rename it onto `owner`, and
//      sync the directory. It is never written in place: a torn one would no longer name its
//      source. Where the disk is full the old file and its lock are kept: a spool has to be drained
//      there above all, and the holder of the lock is alive, whatever the file says.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/local/file_system.h"
#include "store/local/source_identity.h"

namespace unshard {

inline constexpr const char* kOwnerFile = "owner";
inline constexpr const char* kNewOwnerFile = "owner.new";

struct SpoolOwner {
  std::string source;
  std::string host;
  std::string boot;  // differs after each start of the host
  std::string process;
  std::string version;  // of this layout
  // What `source` is. Earlier versions did not write it down.
  std::optional<SourceIdentity> identity = std::nullopt;
};

// The present process as the owner of a spool of `source`.
SpoolOwner ThisProcess(const std::string& source, const std::optional<SourceIdentity>& identity);
// Why chunks of the source that `recorded` names do not belong to the source that `present` names;
// nothing where they do. Without a recorded identity the host has to be the same, unless the source
// is on a network file system.
std::optional<std::string> WhyOfAnotherSource(const SpoolOwner& recorded,
                                              const SpoolOwner& present);
// For people: "process 4711 on host".
std::string DescribeOwner(const SpoolOwner& owner);

// Which process owns, or has owned, the spool in `directory` ("" or a path); nothing where the file
// is missing. Fails with kDataLoss where it is no owner file.
Result<std::optional<SpoolOwner>> ReadOwner(FileSystem& files, const std::string& directory);

// Takes the spool in the root of `files` for `owner`, until the file that is returned is closed.
// Fails with kUnavailable where a living process has it, and with kInvalidArgument where it belongs
// to another source.
Result<std::shared_ptr<File>> AcquireOwnership(FileSystem& files, const SpoolOwner& owner);

}  // namespace unshard
