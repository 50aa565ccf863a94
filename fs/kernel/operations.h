// libfuse's callbacks, translated to VolumeFs and back; nothing else.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "fs/kernel/backing_files.h"
#include "fs/volume_fs.h"
#include "store/local/file_descriptor.h"

namespace unshard {

class RingQueues;

// How far FUSE_INIT has come. kOffer: the request, with what the kernel offers, is still to be
// read. kReply: what is written to the device next is the reply. kDone: the reply was written.
enum class Handshake : std::uint8_t { kOffer, kReply, kDone };

// What the callbacks share; the session's user data. Outlives the session.
struct FuseContext {
  VolumeFs* fs = nullptr;
  uid_t user = 0;
  gid_t group = 0;
  // The directory of the source, opened before the mount, which may cover it; none where that is
  // remote.
  FileDescriptor source;
  bool is_remote = false;
  unsigned threads = 1;            // the most that serve requests at a time
  std::function<void()> on_ready;  // called once, at FUSE_INIT: the kernel has accepted the session
  bool open_is_optional = false;   // the kernel remembers ENOSYS as "never ask again"
  bool opendir_is_optional = false;
  bool parallel_directories = false;  // the kernel can take requests for one directory at once
  bool passes_through = false;        // files of the source are given to the kernel
  BackingFiles backing_files;         // of writable mounts
  bool wants_rings = false;           // requests are to come over io_uring
  bool may_have_rings = false;        // the kernel offers that
  std::unique_ptr<RingQueues> rings;  // null: requests are read from /dev/fuse
  fuse_session* session = nullptr;
  std::atomic<Handshake> handshake{Handshake::kOffer};
};

fuse_lowlevel_ops FuseOperations(bool writable);

}  // namespace unshard
