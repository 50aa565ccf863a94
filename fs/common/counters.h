// Counters of a mount, shown in .unshard/status.json and .unshard/metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unshard {

enum class Operation : std::size_t {
  kLookup,
  kGetattr,
  kRead,
  kReaddir,
  kReaddirplus,
  kOpen,
  kOpendir,
  kFlush,
  kRelease,
  kGetxattr,
  kListxattr,
  kStatfs,
  kForget,
  kCreate,
  kWrite,
  kFsync,
  kSetattr,
  kUnlink,
  kRename,
  kLink,
  kMkdir,
  kRmdir,
  kAccess,
  kCount,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Operation::kCount)>
    kOperationNames = {"lookup",  "getattr", "read",    "readdir",  "readdirplus", "open",
                       "opendir", "flush",   "release", "getxattr", "listxattr",   "statfs",
                       "forget",  "create",  "write",   "fsync",    "setattr",     "unlink",
                       "rename",  "link",    "mkdir",   "rmdir",    "access"};

// Thread-safe. Requests on .unshard itself are not counted, so that reading the counters does not
// change them.
struct Counters {
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Operation::kCount)> requests{};
  std::atomic<std::uint64_t> over_io_uring{0};  // of all requests
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> bytes_spliced{0};
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> shards_changed{0};
  std::atomic<std::uint64_t> entries_invalidated{0};

  void Count(Operation operation, bool came_over_io_uring = false) {
    requests[static_cast<std::size_t>(operation)].fetch_add(1, std::memory_order_relaxed);
    if (came_over_io_uring) over_io_uring.fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace unshard
