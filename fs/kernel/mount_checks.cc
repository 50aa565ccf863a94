#include "fs/kernel/mount_checks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "fs/kernel/fuse_mount.h"
#include "store/local/cross_host_locks.h"
#include "store/local/mount_table.h"
#include "store/object/log.h"

namespace unshard {
namespace {

constexpr std::chrono::seconds kLongestClaim{10};

// Handles a mount of ours that is there already: unmounts one whose process is gone.
Status ClearMountPoint(const std::string& mount_point) {
  UNSHARD_ASSIGN_OR_RETURN(const auto table, ReadMountTable());
  const auto mount = TopMountAt(table, mount_point);
  if (!mount || !IsOurs(*mount)) return {};
  switch (HealthOf(*mount).state) {
    case MountHealth::State::kDead:
      LogWarning(mount_point + ": the process of the mount here is gone; removing that mount");
      return RemoveDeadMount(*mount);
    case MountHealth::State::kSilent:
      return Fail(ErrorCode::kUnavailable, mount_point, ": the mount of ", mount->source,
                  " on it does not answer; end it first: unshard umount ", mount_point);
    case MountHealth::State::kAnswers:
      break;
  }
  return Fail(ErrorCode::kInvalidArgument, mount_point, ": ", mount->source,
              " is mounted there already; end it first (unshard umount ", mount_point,
              ") or use another directory");
}

// Why this source can only be mounted read-only; nothing where it can be written.
std::optional<std::string> WhyReadOnly(const MountOptions& options) {
  if (!options.url.empty()) return std::nullopt;  // the store is asked when it is opened
  if (access(options.source.c_str(), W_OK) != 0 &&
      (errno == EACCES || errno == EROFS || errno == EPERM)) {
    return std::string("cannot be written to (") + std::strerror(errno) + ")";
  }
  if (options.single_writer) return std::nullopt;
  const auto local = WhyLocksAreLocal(options.source);
  if (!local) return std::nullopt;
  return *local +
         ", so hosts that write into the same shard would undo each other's work; if no other host "
         "writes there, mount with -o single_writer";
}

Status CheckPassedDevice(const std::string& mount_point, int descriptor) {
  constexpr unsigned kMajor = 10;  // of /dev/fuse, on all machines
  constexpr unsigned kMinor = 229;
  struct stat info {};
  if (fstat(descriptor, &info) == 0 && S_ISCHR(info.st_mode) &&
      info.st_rdev == makedev(kMajor, kMinor)) {
    return {};
  }
  return Fail(ErrorCode::kInvalidArgument, mount_point,
              ": is no open descriptor of /dev/fuse; open that, mount it with its number as option "
              "fd=, and let this program inherit it");
}

// Waits while another process has it, but not for ever: a script may hold the lock around its call
// of us. None where it cannot be locked: to open a directory of autofs would wait for the very
// mount that is being made; autofs asks for one at a time.
FileDescriptor LockDirectory(const std::string& path) {
  const auto table = ReadMountTable();
  const auto holding = table ? MountHolding(*table, path) : std::nullopt;
  if (!holding || holding->type == "autofs") return {};
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return directory;
  const auto end = std::chrono::steady_clock::now() + kLongestClaim;
  while (flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK || errno == EINTR;
    if (!held || std::chrono::steady_clock::now() > end) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return directory;
}

}  // namespace

Status DecideWriting(MountOptions& options) {
  if (options.read_only) return {};
  const auto why = WhyReadOnly(options);
  if (!why) return {};
  if (options.must_write) {
    return Fail(ErrorCode::kReadOnly, options.source, ": ", *why, "; mount it without rw");
  }
  LogWarning(options.source + ": " + *why + "; mounting read-only");
  options.read_only = true;
  return {};
}

void WarnOfOthers(const MountOptions& options) {
  struct stat source {};
  if (!options.allow_other || stat(options.source.c_str(), &source) != 0) return;
  const bool is_directory = S_ISDIR(source.st_mode);  // or an archive
  const mode_t missing = (is_directory ? S_IROTH | S_IXOTH : S_IROTH) & ~source.st_mode;
  if (missing == 0 || (PresentedMode(options, true, false) & missing) == 0) return;
  LogWarning(options.source + ": other users may not read this " +
             (is_directory ? "directory" : "file") + ", but may read the mount " +
             "(allow_other): say with umask=, fmask= and dmask= what they may");
}

Result<FileDescriptor> ClaimMountPoint(const std::string& mount_point) {
  if (const auto passed = PassedDevice(mount_point)) {
    UNSHARD_RETURN_IF_ERROR(CheckPassedDevice(mount_point, *passed));
    return FileDescriptor();
  }
  UNSHARD_RETURN_IF_ERROR(ClearMountPoint(mount_point));
  struct stat info {};
  if (stat(mount_point.c_str(), &info) != 0) {
    const bool missing = errno == ENOENT;
    Error error = FailErrno(errno, mount_point).value();
    error.message += missing ? "; make this directory first" : "; mount on another directory";
    return tl::unexpected<Error>(std::move(error));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, mount_point,
                ": is not a directory; mount on an existing directory");
  }
  if (access("/dev/fuse", F_OK) != 0) {
    Error error = FailErrno(errno, "/dev/fuse").value();
    error.message +=
        "; load the kernel's module (`modprobe fuse`), or give this device to the container";
    return tl::unexpected<Error>(std::move(error));
  }
  FileDescriptor claim = LockDirectory(mount_point);
  UNSHARD_RETURN_IF_ERROR(ClearMountPoint(mount_point));
  return claim;
}

}  // namespace unshard
