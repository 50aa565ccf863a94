#include "fs/kernel/ring_entry.h"

#ifdef UNSHARD_URING
#include <liburing.h>
#endif
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "store/object/log.h"

#ifdef UNSHARD_URING

namespace unshard {
namespace {

constexpr Library kLiburing = {"io_uring", "liburing", [] { return std::string(); }};

// Of <linux/fuse.h> of Linux 6.14: the headers that this is built with may be older.
constexpr std::uint32_t kRegister = 1;
constexpr std::uint32_t kCommitAndFetch = 2;
struct EntryState {
  std::uint64_t flags;
  std::uint64_t commit_id;
  std::uint32_t payload_size;
  std::uint32_t padding;
  std::uint64_t reserved;
};
struct Headers {
  std::byte in_out[128];     // fuse_in_header, then fuse_out_header
  std::byte operation[128];  // first argument of the request
  EntryState state;
};
struct Command {
  std::uint64_t flags;
  std::uint64_t commit_id;
  std::uint16_t queue;
  std::uint8_t padding[6];
};
static_assert(sizeof(Headers) == 288 && sizeof(Command) == 24);

// Before the payload: the kernel's headers, and just before it the same as a read returns them.
constexpr std::size_t kBeforePayload = 4096;
static_assert(sizeof(Headers) + sizeof(fuse_in_header) + sizeof(Headers::operation) <=
              kBeforePayload);

enum Completed : std::uint64_t { kRequest, kEnd };

Headers& HeadersIn(std::byte* memory) { return *reinterpret_cast<Headers*>(memory); }

}  // namespace

RingEntry::RingEntry(int device, std::uint16_t queue)
    : device_(device), queue_(queue), uring_(std::make_unique<io_uring>()) {}

Result<std::unique_ptr<RingEntry>> RingEntry::Make(int device, std::uint16_t queue, int ended) {
  std::unique_ptr<RingEntry> entry(new RingEntry(device, queue));
  UNSHARD_RETURN_IF_ERROR(entry->Open(ended));
  return entry;
}

RingEntry::~RingEntry() {
  if (opened_) io_uring_queue_exit(uring_.get());
  if (memory_ != nullptr) munmap(memory_, kBeforePayload + payload_size_);
}

Status RingEntry::Open(int ended) {
  // One request, and the end.
  constexpr unsigned kCommands = 2;
  // What the kernel has to do for a request it does when the thread waits, and not in between.
  constexpr unsigned kFlags =
      IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  if (const int code = io_uring_queue_init(kCommands, uring_.get(), kFlags); code < 0) {
    return FailErrno(-code, "io_uring_setup");
  }
  opened_ = true;
  io_uring_sqe* const end = io_uring_get_sqe(uring_.get());
  io_uring_prep_poll_add(end, ended, POLLIN);
  io_uring_sqe_set_data64(end, kEnd);
  if (const int code = io_uring_submit(uring_.get()); code < 0)
    return FailErrno(-code, "io_uring_enter");
  return {};
}

Status RingEntry::Register(std::size_t payload_size) {
  void* const memory = mmap(nullptr, kBeforePayload + payload_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return FailErrno(errno, "allocating the memory of a ring entry");
  memory_ = static_cast<std::byte*>(memory);
  payload_size_ = payload_size;
  segments_[0] = {memory_, sizeof(Headers)};
  segments_[1] = {memory_ + kBeforePayload, payload_size};
  if (const int code = Submit(kRegister, 0); code < 0) return FailErrno(-code, "io_uring_enter");
  // A refusal is there at once, and a request only after Wait() has called the kernel.
  io_uring_cqe* completed = nullptr;
  const bool refused = io_uring_peek_cqe(uring_.get(), &completed) == 0 &&
                       completed->user_data == kRequest && completed->res < 0;
  return refused ? FailErrno(-completed->res, "registering a ring entry") : Status{};
}

std::span<std::byte> RingEntry::Wait() {
  for (;;) {
    io_uring_cqe* completed = nullptr;
    const int code = io_uring_wait_cqe(uring_.get(), &completed);
    if (code == -EINTR) continue;
    if (code < 0) return {};
    const bool ends = completed->user_data == kEnd;
    const int why = completed->res;
    io_uring_cqe_seen(uring_.get(), completed);
    if (!ends && why >= 0) return Assemble();
    if (!ends && why != -ENOTCONN && why != -ECONNABORTED && why != -ECANCELED) {
      LogWarning(std::string("FUSE over io_uring: a ring entry ends: ") + std::strerror(-why));
    }
    return {};
  }
}

// A request whose lengths contradict each other ends the entry.
std::span<std::byte> RingEntry::Assemble() {
  const Headers& headers = HeadersIn(memory_);
  fuse_in_header header{};
  std::memcpy(&header, headers.in_out, sizeof(header));
  const std::size_t payload_size = headers.state.payload_size;
  if (payload_size > payload_size_ || header.len < sizeof(header) + payload_size) return {};
  const std::size_t operation_size = header.len - sizeof(header) - payload_size;
  if (operation_size > sizeof(headers.operation)) return {};
  unique_ = header.unique;
  commit_id_ = headers.state.commit_id;
  std::byte* const operation = memory_ + kBeforePayload - operation_size;
  std::memcpy(operation, headers.operation, operation_size);
  std::byte* const start = operation - sizeof(header);
  std::memcpy(start, &header, sizeof(header));
  return {start, header.len};
}

ssize_t RingEntry::Reply(const iovec* parts, int count) {
  fuse_out_header header{};
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  const std::span<std::byte> room = payload();
  std::size_t size = 0;
  for (int i = 1; i < count; ++i) {
    if (parts[i].iov_len > room.size() - size) {  // the kernel asks for no such reply
      header.error = -EIO;
      size = 0;
      break;
    }
    std::byte* const at = room.data() + size;
    if (parts[i].iov_base != at) std::memcpy(at, parts[i].iov_base, parts[i].iov_len);
    size += parts[i].iov_len;
  }
  Headers& headers = HeadersIn(memory_);
  std::memcpy(headers.in_out, &header, sizeof(header));
  headers.state.payload_size = static_cast<std::uint32_t>(size);
  unique_ = 0;
  if (const int code = Submit(kCommitAndFetch, commit_id_); code < 0) {
    errno = -code;
    return -1;
  }
  return static_cast<ssize_t>(sizeof(header) + size);
}

std::span<std::byte> RingEntry::payload() const {
  return {memory_ + kBeforePayload, payload_size_};
}

// Returns as io_uring_submit(3) does.
int RingEntry::Submit(std::uint32_t command, std::uint64_t commit_id) {
  io_uring_sqe* const entry = io_uring_get_sqe(uring_.get());
  if (entry == nullptr) return -EBUSY;
  const bool registers = command == kRegister;
  io_uring_prep_rw(IORING_OP_URING_CMD, entry, device_, registers ? segments_ : nullptr,
                   registers ? 2 : 0, 0);
  entry->cmd_op = command;
  io_uring_sqe_set_data64(entry, kRequest);
  const Command argument{0, commit_id, queue_, {}};
  // Begins in the first half of an entry of 128 bytes, all that the structure declares, and ends in
  // the second: a compiler that sees both in one copy takes it for an overflow.
  constexpr std::size_t kDeclared = sizeof(io_uring_sqe) - offsetof(io_uring_sqe, cmd);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&argument);
  std::memcpy(reinterpret_cast<std::byte*>(entry) + offsetof(io_uring_sqe, cmd), bytes, kDeclared);
  std::memcpy(entry + 1, bytes + kDeclared, sizeof(argument) - kDeclared);
  return io_uring_submit(uring_.get());
}

#else

struct io_uring {};

namespace unshard {
namespace {

constexpr Library kLiburing = {"io_uring", "liburing"};

}  // namespace

Result<std::unique_ptr<RingEntry>> RingEntry::Make(int, std::uint16_t, int) {
  return NotInBuild(kLiburing, "io_uring");
}

// No entry is ever made.
RingEntry::~RingEntry() = default;
Status RingEntry::Register(std::size_t) { return NotInBuild(kLiburing, "io_uring"); }
std::span<std::byte> RingEntry::Wait() { return {}; }
ssize_t RingEntry::Reply(const iovec*, int) { return -1; }
std::span<std::byte> RingEntry::payload() const { return {}; }

#endif

const Library& Liburing() { return kLiburing; }

}  // namespace unshard
