#include "fs/kernel/fuse_mount.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "codec/core/text.h"
#include "fs/common/daemon.h"
#include "fs/common/process_table.h"
#include "store/local/file_descriptor.h"

namespace unshard {
namespace {

constexpr int kAnswerMilliseconds = 1000;
// On a machine under load, with a spool that is full, an answer may take its time.
constexpr int kSilentTries = 20;
constexpr int kMostLinks = 40;

// A request to a mount, sent by a process of its own, which is no child of ours: a process that
// waits for a dead mount cannot always be killed, and then we could not wait for its end.
class Question {
 public:
  explicit Question(const std::string& mount_point) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    answer_ = FileDescriptor(ends[0]);
    const FileDescriptor asking(ends[1]);
    const pid_t child = fork();
    if (child < 0) return;
    if (child == 0) {
      if (fork() == 0) Ask(mount_point, asking.get());
      _exit(0);
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  // 0 or an errno; nothing within the time.
  [[nodiscard]] std::optional<int> Wait(int milliseconds) const {
    pollfd ready{answer_.get(), POLLIN, 0};
    int polled = 0;
    do {
      polled = poll(&ready, 1, milliseconds);
    } while (polled < 0 && errno == EINTR);
    int number = 0;
    if (polled <= 0) return std::nullopt;
    return read(answer_.get(), &number, sizeof number) == sizeof number ? number : EIO;
  }

 private:
  [[noreturn]] static void Ask(const std::string& mount_point, int asking) {
    const int kept = KeepOnly(asking);
    struct statvfs unused {};
    const int number = statvfs(mount_point.c_str(), &unused) == 0 ? 0 : errno;
    const ssize_t written = write(kept, &number, sizeof number);
    _exit(written == sizeof number ? 0 : 1);
  }

  FileDescriptor answer_;
};

Status ForceAbort(const MountEntry& mount) {
  // The descriptor keeps the mount busy, so that force aborts the connection and unmounts nothing.
  const FileDescriptor busy(open(mount.mount_point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (umount2(mount.mount_point.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW) == 0 || errno == EBUSY) {
    return {};
  }
  return FailErrno(errno, mount.mount_point + ": aborting its connection");
}

}  // namespace

std::string MountPointPath(const std::string& path) {
  std::string current = path;
  for (int i = 0; i < kMostLinks; ++i) {
    while (current.size() > 1 && current.back() == '/') current.pop_back();
    const std::filesystem::path whole(current);
    const std::string name = whole.filename().string();
    if (name.empty() || name == "." || name == "..") break;
    char resolved[PATH_MAX];
    const std::string folder = whole.parent_path().string();
    if (realpath(folder.empty() ? "." : folder.c_str(), resolved) == nullptr) break;
    const std::string parent = std::string(resolved) == "/" ? "" : resolved;
    current = parent + "/" + name;
    char target[PATH_MAX];
    // The kernel knows without a request that the root of a mount is no link.
    const ssize_t size = readlink(current.c_str(), target, sizeof target);
    if (size <= 0) return current;
    const std::string link(target, static_cast<std::size_t>(size));
    current = link.front() == '/' ? link : parent + "/" + link;
  }
  std::error_code failed;
  const std::string canonical = std::filesystem::weakly_canonical(current, failed).string();
  return failed ? current : canonical;
}

std::optional<int> PassedDevice(const std::string& mount_point) {
  constexpr std::string_view kFolder = "/dev/fd/";
  if (!mount_point.starts_with(kFolder)) return std::nullopt;
  const auto number = ParseNumber<int>(std::string_view(mount_point).substr(kFolder.size()));
  return number && *number >= 0 ? number : std::nullopt;
}

MountHealth HealthOf(const MountEntry& mount) {
  using State = MountHealth::State;
  const Question question(mount.mount_point);
  std::vector<pid_t> servers;
  for (int i = 0; i < kSilentTries; ++i) {
    if (const auto answer = question.Wait(kAnswerMilliseconds)) {
      const bool gone = *answer == ENOTCONN || *answer == ECONNABORTED;
      return {gone ? State::kDead : State::kAnswers, {}};
    }
    servers = ServersOf(mount.minor);
    // From inside a pid namespace the processes outside it cannot be seen.
    if (servers.empty() && SeesAllProcesses()) return {State::kDead, {}};
  }
  return {State::kSilent, std::move(servers)};
}

int OpenAbortFile(const MountEntry& mount) {
  const std::string path = "/sys/fs/fuse/connections/" + std::to_string(mount.minor) + "/abort";
  return open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

Status AbortConnection(const MountEntry& mount) {
  const FileDescriptor abort(OpenAbortFile(mount));
  if (abort.valid() && write(abort.get(), "1", 1) == 1) return {};
  if (geteuid() == 0) return ForceAbort(mount);
  return Fail(ErrorCode::kPermissionDenied, mount.mount_point,
              ": its connection cannot be aborted: /sys/fs/fuse/connections is not mounted or "
              "belongs to another user; as root, `umount -f ",
              mount.mount_point, "` ends it");
}

Status RemoveDeadMount(const MountEntry& mount) {
  const Status aborted = AbortConnection(mount);
  if (geteuid() == 0) {
    if (umount2(mount.mount_point.c_str(), MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
      return {};
    }
    return FailErrno(errno, mount.mount_point + ": unmounting");
  }
  UNSHARD_RETURN_IF_ERROR(RunProgram({"fusermount3", "-u", "-z", "--", mount.mount_point}));
  return aborted;
}

std::vector<std::string> HoldersOf(const MountEntry& mount) {
  return ProcessesIn(mount.mount_point);
}

}  // namespace unshard
