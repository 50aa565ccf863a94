// One entry of a FUSE ring queue: memory in which the kernel puts a request and takes the reply.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "codec/core/error.h"
#include "codec/core/library.h"

struct io_uring;

namespace unshard {

// A build without it reads all requests from /dev/fuse.
const Library& Liburing();

// FUSE over io_uring, of Linux 6.14 on. Used by one thread: that which makes it.
class RingEntry {
 public:
  // An io_uring for an entry of queue `queue` of the connection `device`. Wait() ends when the
  // eventfd `ended` can be read. Fails where this process gets no such io_uring.
  static Result<std::unique_ptr<RingEntry>> Make(int device, std::uint16_t queue, int ended);
  ~RingEntry();
  RingEntry(const RingEntry&) = delete;
  RingEntry& operator=(const RingEntry&) = delete;

  // Gives the entry to the kernel. `payload_size`: of the largest request or reply of the
  // connection, without headers. ENOTCONN or ECONNABORTED: the connection has ended.
  Status Register(std::size_t payload_size);

  // The next request as a read of /dev/fuse returns it, valid until its reply. Empty: the
  // connection has ended, or `ended` can be read.
  std::span<std::byte> Wait();

  // Whether the request with this number waits for its reply here.
  [[nodiscard]] bool Awaits(std::uint64_t unique) const { return unique != 0 && unique == unique_; }

  // Sends the reply to the present request: a header and what follows it, as writev(2) to /dev/fuse
  // would. The kernel may put the next request into the entry at once.
  ssize_t Reply(const iovec* parts, int count);

  // A reply's bytes after the header are not copied where they are here already. Overwrites what
  // the request has beside its headers: names, or data to write.
  [[nodiscard]] std::span<std::byte> payload() const;

 private:
  RingEntry(int device, std::uint16_t queue);
  Status Open(int ended);
  int Submit(std::uint32_t command, std::uint64_t commit_id);
  std::span<std::byte> Assemble();

  const int device_;
  const std::uint16_t queue_;
  bool opened_ = false;
  const std::unique_ptr<io_uring> uring_;
  std::byte* memory_ = nullptr;  // headers, then the payload
  std::size_t payload_size_ = 0;
  iovec segments_[2]{};
  std::uint64_t unique_ = 0;     // of the present request; 0: none
  std::uint64_t commit_id_ = 0;  // of the present request
};

}  // namespace unshard
