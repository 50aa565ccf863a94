#include "fs/kernel/device.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fs/kernel/ring_queues.h"
#include "store/object/log.h"

namespace unshard {
namespace {

// A little below libfuse's largest request: with its header it must fit into a pipe of 1 MiB, or
// libfuse copies it instead of splicing.
constexpr std::string_view kReadAheadKilobytes = "1008";

// Of Linux 6.9, in the upper half of the flags; the headers may be older.
constexpr std::uint32_t kNoExportSupport = 1u << (38 - 32);
constexpr std::uint32_t kPassthrough = 1u << (37 - 32);
constexpr std::uint32_t kOverIoUring = 1u << (41 - 32);  // of Linux 6.14
constexpr std::uint32_t kOpenPassthrough = 1u << 7;
// A backing file is on no stacked file system, so that overlayfs can be mounted over this mount.
constexpr std::uint32_t kMaxStackDepth = 1;

thread_local std::uint32_t backing_of_reply = 0;
thread_local const WatchedReply::Failed* reply_failed = nullptr;
thread_local void* buffer_of_thread = nullptr;  // where it has read its last request to

constexpr std::size_t kThroughFlags =
    offsetof(fuse_init_out, flags2) + sizeof(fuse_init_out::flags2);

// If these parts are the reply to FUSE_INIT, adds the flags that libfuse does not know. An NFS
// server needs to find the node of a file by its number after the kernel has forgotten it, which we
// cannot do: file handles are refused, rather than failing with ESTALE under load. Older kernels
// ignore that flag. False: they are another reply.
bool AddFlags(const iovec* parts, int count, const FuseContext& context) {
  fuse_out_header header{};
  fuse_init_out reply{};
  constexpr std::size_t kThroughDepth = kThroughFlags + sizeof(kMaxStackDepth);
  if (count != 2 || parts[0].iov_len != sizeof(header) || parts[1].iov_len < kThroughFlags) {
    return false;
  }
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  if (header.error != 0 || header.unique == 0) return false;
  std::memcpy(&reply, parts[1].iov_base, kThroughFlags);
  if (context.parallel_directories) reply.flags |= FUSE_PARALLEL_DIROPS;
  reply.flags |= FUSE_INIT_EXT | FUSE_HANDLE_KILLPRIV_V2;
  reply.flags2 |= kNoExportSupport;
  const bool passes_through = context.passes_through && parts[1].iov_len >= kThroughDepth;
  if (passes_through) reply.flags2 |= kPassthrough;
  std::memcpy(parts[1].iov_base, &reply, kThroughFlags);
  if (!passes_through) return true;
  // max_stack_depth, which follows the flags.
  std::memcpy(static_cast<char*>(parts[1].iov_base) + kThroughFlags, &kMaxStackDepth,
              sizeof(kMaxStackDepth));
  return true;
}

// If these parts are a reply to OPEN or CREATE, which end alike, names the backing file in it.
void AddBacking(const iovec* parts, int count, std::uint32_t backing) {
  fuse_out_header header{};
  fuse_open_out reply{};
  if (count != 2 || parts[0].iov_len != sizeof(header)) return;
  const std::size_t size = parts[1].iov_len;
  if (size != sizeof(reply) && size != sizeof(fuse_entry_out) + sizeof(reply)) return;
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  if (header.error != 0) return;
  char* const at = static_cast<char*>(parts[1].iov_base) + size - sizeof(reply);
  std::memcpy(&reply, at, sizeof(reply));
  reply.open_flags |= kOpenPassthrough;
  std::memcpy(at, &reply, sizeof(reply));
  // backing_id, which was padding before Linux 6.9.
  std::memcpy(at + sizeof(reply) - sizeof(backing), &backing, sizeof(backing));
}

void RaiseReadAhead(const std::string& mount_point) {
  struct statx mounted {};
  // AT_STATX_DONT_SYNC: no request to the daemon, which answers none at this moment.
  if (statx(AT_FDCWD, mount_point.c_str(), AT_STATX_DONT_SYNC, 0, &mounted) != 0) return;
  const std::string path = "/sys/class/bdi/" + std::to_string(mounted.stx_dev_major) + ':' +
                           std::to_string(mounted.stx_dev_minor) + "/read_ahead_kb";
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, kReadAheadKilobytes.data(), kReadAheadKilobytes.size()) < 0) {
    LogDebug(path + ": " + std::strerror(errno));
  }
  close(file);
}

// Makes the threads of ring queues, and accepts them in the reply to FUSE_INIT, where they are
// wanted, offered and allowed.
void AcceptRings(const iovec* parts, FuseContext& context) {
  if (!context.wants_rings || !context.may_have_rings) return;
  fuse_session* const session = context.session;
  const auto serve = [session](std::span<std::byte> request) {
    fuse_buf buffer{};
    buffer.mem = request.data();
    buffer.size = request.size();
    fuse_session_process_buf(session, &buffer);
  };
  context.rings = RingQueues::Make(fuse_session_fd(session), context.threads, serve);
  if (!context.rings) return;
  fuse_init_out reply{};
  std::memcpy(&reply, parts[1].iov_base, kThroughFlags);
  reply.flags2 |= kOverIoUring;
  std::memcpy(parts[1].iov_base, &reply, kThroughFlags);
}

// Of the largest request or reply without headers, as the kernel computes it from this reply.
std::size_t PayloadSize(const iovec* parts) {
  fuse_init_out reply{};
  std::memcpy(&reply, parts[1].iov_base, kThroughFlags);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::max({std::size_t{FUSE_MIN_READ_BUFFER}, std::size_t{reply.max_write},
                   std::size_t{reply.max_pages} * page});
}

// The reply to FUSE_INIT.
ssize_t WriteFirst(int device, iovec* parts, int count, FuseContext& context) {
  if (AddFlags(parts, count, context)) AcceptRings(parts, context);
  const ssize_t written = writev(device, parts, count);
  const int error = errno;
  if (written >= 0) {
    if (context.rings) context.rings->Start(PayloadSize(parts));
    RaiseReadAhead(context.fs->options().mount_point);
  } else {
    context.rings.reset();
  }
  errno = error;
  return written;
}

ssize_t WriteDevice(int device, iovec* parts, int count, void* user_data) {
  auto& context = *static_cast<FuseContext*>(user_data);
  if (backing_of_reply != 0) AddBacking(parts, count, backing_of_reply);
  if (reply_failed != nullptr) {
    fuse_out_header header{};
    std::memcpy(&header, parts[0].iov_base, sizeof(header));
    if (header.error < 0) (*reply_failed)(-header.error);
  }
  if (RingEntry* const entry = RingQueues::Current(); entry != nullptr) {
    fuse_out_header header{};
    std::memcpy(&header, parts[0].iov_base, sizeof(header));
    // Notifications go to the device from any thread.
    if (entry->Awaits(header.unique)) return entry->Reply(parts, count);
  }
  // Init() sets this, and the reply to it is the next that is written.
  Handshake expected = Handshake::kReply;
  if (context.handshake.load(std::memory_order_relaxed) == expected &&
      context.handshake.compare_exchange_strong(expected, Handshake::kDone)) {
    return WriteFirst(device, parts, count, context);
  }
  return writev(device, parts, count);
}

// libfuse gives each of its threads a buffer for the largest request, and most requests need one
// page of it. malloc may take it from memory that was in use before: all its pages would stay
// resident, and the next large block of this process would need fresh ones. So they go back to the
// kernel: else the process grows by the size of a buffer with each thread.
void ReleasePages(void* buffer, std::size_t size) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  const std::uintptr_t skipped = (page - address % page) % page;
  if (skipped >= size) return;
  madvise(static_cast<char*>(buffer) + skipped, (size - skipped) / page * page, MADV_DONTNEED);
}

ssize_t ReadDevice(int device, void* buffer, std::size_t size, void* user_data) {
  auto& context = *static_cast<FuseContext*>(user_data);
  if (std::exchange(buffer_of_thread, buffer) != buffer) ReleasePages(buffer, size);
  const ssize_t got = read(device, buffer, size);
  if (context.handshake.load(std::memory_order_relaxed) != Handshake::kOffer) return got;
  fuse_in_header header{};
  fuse_init_in offer{};
  if (got < static_cast<ssize_t>(sizeof(header) + sizeof(offer))) return got;
  std::memcpy(&header, buffer, sizeof(header));
  std::memcpy(&offer, static_cast<const char*>(buffer) + sizeof(header), sizeof(offer));
  if (header.opcode == FUSE_INIT) context.may_have_rings = (offer.flags2 & kOverIoUring) != 0;
  return got;
}

ssize_t SpliceToDevice(int from, off_t* from_offset, int to, off_t* to_offset, std::size_t size,
                       unsigned flags, void*) {
  return splice(from, from_offset, to, to_offset, size, flags);
}

}  // namespace

BackingOfReply::BackingOfReply(std::uint32_t backing) { backing_of_reply = backing; }

BackingOfReply::~BackingOfReply() { backing_of_reply = 0; }

WatchedReply::WatchedReply(const Failed& failed) { reply_failed = &failed; }

WatchedReply::~WatchedReply() { reply_failed = nullptr; }

void TuneFirstReply(fuse_session* session) {
  fuse_custom_io device{};
  device.writev = WriteDevice;
  device.read = ReadDevice;
  device.splice_send = SpliceToDevice;  // without it libfuse would copy
  if (fuse_session_custom_io(session, &device, fuse_session_fd(session)) != 0) {
    LogWarning(
        "/dev/fuse: unshard cannot see the replies of this libfuse, so requests will be slower");
  }
}

}  // namespace unshard
