// Which directory a source is, beyond its path: another host, or another dataset that was put in
// its place, has the same path. And which place a URL leads to: another endpoint may have a bucket
// of the same name.
#pragma once

#include <cstdint>
#include <string>

#include "codec/core/error.h"

namespace unshard {

struct SourceIdentity {
  // /etc/machine-id, "unknown" where there is none, "network" where other hosts see the same files.
  std::string machine;
  // Of the directory. Device numbers may change when the host starts or the file system is mounted
  // again.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // When the directory was made: never changes, and tells it from a later one with its inode
  // number. "" where the file system does not record that.
  std::string born;
  // Name, size and checksum of the metadata document in it; "" where there is none. Changes with
  // each edit, so that it only decides where the numbers cannot.
  std::string document;
  // Of a source in a remote store, "https://host/bucket/prefix", without any secret; "" for
  // directories. Nothing else is set beside it.
  std::string url = {};
  friend bool operator==(const SourceIdentity&, const SourceIdentity&) = default;
};

// Fails where the directory `root` cannot be read.
Result<SourceIdentity> IdentifySource(const std::string& root);

// Whether other hosts see the same files.
bool IsNetworkSource(const SourceIdentity& identity);

// Whether the source that was recorded under a path is the same as the present source. In a remote
// store it is if the URL leads to the same place. Of directories:
//   1. Never on another machine, unless the file system is a network one.
//   2. Where both are known, the inode number and the time of birth decide.
//   3. Else device and inode number do, where they are the same.
//   4. Else the device may have been given another number: the same inode number and document are
//      the same source. On a network file system, whose inode numbers may be made up, the document
//      is enough.
bool IsSameSource(const SourceIdentity& recorded, const SourceIdentity& present);

// Whether the source that was recorded under another path is the same as the present source. True
// only if rule 2 says so, and not on a network file system, whose inode numbers may be made up.
bool IsMovedSource(const SourceIdentity& recorded, const SourceIdentity& present);

}  // namespace unshard
