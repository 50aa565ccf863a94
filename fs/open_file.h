// One open file description of a writable mount: what a program got from open().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "fs/tree/chunk_content.h"
#include "fs/tree/node_id.h"
#include "fs/write/staged_inode.h"
#include "store/local/file_system.h"

namespace unshard {

// Exactly one of `content`, `staged` and `live` is set.
struct OpenFile {
  NodeId node = 0;
  bool writable = false;
  bool direct = false;   // the kernel is to keep no pages for it
  bool flushed = false;  // nothing was written to it since it was closed; guarded by `staged`
  pid_t opener = 0;      // the thread that opened it
  // One version, which stays what it is whatever is written meanwhile.
  ContentPtr content;
  bool counted = false;  // among the open versions (fs/write/open_versions.h)
  // A file that is being written.
  std::shared_ptr<StagedInode> staged;
  // A file of the source as it is.
  std::shared_ptr<File> live;
  // What the last close was refused with, which has been reported: the hash of its message, or 0.
  std::atomic<std::size_t> refused{0};
};
using OpenFilePtr = std::unique_ptr<OpenFile>;

struct OpenRequest {
  bool read = true;
  bool write = false;
  bool truncate = false;
  bool exclusive = false;
  pid_t thread = 0;  // of the caller
};

// What to change; what is not set stays.
struct AttributeChange {
  std::optional<std::uint64_t> size;
  std::optional<timespec> modified;
};

}  // namespace unshard
