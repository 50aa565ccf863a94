#include "fs/kernel/notifications.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>

#include "fs/kernel/operations.h"
#include "store/local/file_descriptor.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

void WriteTo(int device, std::span<const iovec> message) {
  // ENOENT: the kernel does not know the name or the node, which is as good. ENODEV, EBADF: the
  // mount has ended.
  if (writev(device, message.data(), static_cast<int>(message.size())) < 0) return;
}

// A second device of the session; none where that is not allowed.
FileDescriptor SecondDevice(int first) {
  FileDescriptor second(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  auto of = static_cast<std::uint32_t>(first);
  if (second.get() <= STDERR_FILENO || ioctl(second.get(), FUSE_DEV_IOC_CLONE, &of) != 0) return {};
  return second;
}

// From now on the calling thread has this file, and shares none with other threads. False where the
// kernel is too old.
bool KeepAlone(int file) {
  const auto number = static_cast<unsigned>(file);
  return close_range(0, number - 1, CLOSE_RANGE_UNSHARE) == 0 &&
         close_range(number + 1, ~0U, 0) == 0;
}

}  // namespace

Notifications::Notifications(fuse_session* session, Counters& counters)
    : session_(session), counters_(counters) {
  const FileDescriptor own = SecondDevice(fuse_session_fd(session));
  if (!own.valid()) return;
  thread_ = StartWithoutSignals([this, file = own.get()] { Serve(file); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ == State::kServing; });
  if (alone_) return;
  lock.unlock();
  thread_.join();
}

Notifications::~Notifications() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  state_ = State::kEnding;
  changed_.notify_all();
  lock.unlock();
  thread_.join();
}

void Notifications::Serve(int device) {
  const bool alone = KeepAlone(device);
  std::unique_lock lock(mutex_);
  alone_ = alone;
  state_ = State::kServing;
  changed_.notify_all();
  while (alone) {
    changed_.wait(lock, [&] { return state_ == State::kEnding || !message_.empty(); });
    if (message_.empty()) return;
    const std::span<const iovec> message = message_;
    lock.unlock();
    WriteTo(device, message);
    lock.lock();
    message_ = {};
    changed_.notify_all();
  }
}

// Allocates nothing.
void Notifications::Send(fuse_notify_code code, std::span<iovec> message) {
  fuse_out_header header{};
  message.front() = {&header, sizeof(header)};
  for (const iovec& part : message) header.len += static_cast<std::uint32_t>(part.iov_len);
  header.error = code;
  if (!thread_.joinable()) return WriteTo(fuse_session_fd(session_), message);
  std::unique_lock lock(mutex_);
  message_ = message;
  changed_.notify_all();
  changed_.wait(lock, [&] { return message_.empty(); });
}

void Notifications::InvalidateEntry(NodeId parent, const std::string& name) {
  counters_.entries_invalidated.fetch_add(1, std::memory_order_relaxed);
  fuse_notify_inval_entry_out members{};
  members.parent = parent;
  members.namelen = static_cast<std::uint32_t>(name.size());
  const std::size_t with_end = name.size() + 1;
  iovec message[] = {{}, {&members, sizeof(members)}, {const_cast<char*>(name.c_str()), with_end}};
  Send(FUSE_NOTIFY_INVAL_ENTRY, message);
}

void Notifications::InvalidateInode(NodeId node) {
  fuse_notify_inval_inode_out members{};
  members.ino = node;
  iovec message[] = {{}, {&members, sizeof(members)}};
  Send(FUSE_NOTIFY_INVAL_INODE, message);
}

}  // namespace unshard
