#include "fs/cli/mount_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "fs/common/process_table.h"
#include "store/local/file_descriptor.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxStatusBytes = std::size_t{16} << 20;
constexpr std::chrono::milliseconds kBetweenReads{200};

Result<std::string> ReadText(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return FailErrno(errno, path);
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, path);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMaxStatusBytes) {
      return Fail(ErrorCode::kDataLoss, path, ": larger than any status");
    }
  }
}

// Returns 0 or an errno once the mount has answered. The request goes to a file in .unshard,
// because during a setxattr(2) of a directory the kernel lets no process look up names in it, which
// `unshard status` does. With default_permissions only root may set attributes of a file without
// write permission: other users fall back on the directory.
int AskToFlush(const std::string& mount_point) {
  const std::string directory = mount_point + "/.unshard";
  for (const std::string& path : {directory + "/config.json", directory}) {
    if (setxattr(path.c_str(), "user.unshard.flush", "", 0, 0) == 0) return 0;
    if (errno != EACCES && errno != EPERM) return errno;
  }
  return errno;
}

}  // namespace

Result<MountStatus> ReadMountStatus(const std::string& mount_point) {
  auto text = ReadText(mount_point + "/.unshard/status.json");
  if (!text) {
    const int number = text.error().system_errno;
    if (number == ENOENT || number == ENOTDIR) {
      return Fail(ErrorCode::kNotFound, mount_point,
                  ": no mount of unshard; `unshard list` shows all of them");
    }
    if (number == ENOTCONN || number == ECONNABORTED) {
      return Fail(ErrorCode::kUnavailable, mount_point,
                  ": the process of this mount is gone; `unshard umount ", mount_point,
                  "` removes it");
    }
    return tl::unexpected<Error>(std::move(text).error());
  }
  auto status = ParseMountStatus(*std::move(text));
  if (!status) return Forward(std::move(status).error(), mount_point);
  return status;
}

Status FlushMount(const std::string& mount_point,
                  const std::function<void(const MountStatus&)>& progress) {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<int> answer;
  std::thread asking([&] {
    const int number = AskToFlush(mount_point);
    const std::lock_guard lock(mutex);
    answer = number;
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kBetweenReads, [&] { return answer.has_value(); })) {
      lock.unlock();
      // Without a status now there is no progress to show, but the answer may still come.
      if (const auto status = ReadMountStatus(mount_point)) progress(*status);
      lock.lock();
    }
  }
  asking.join();
  if (*answer == 0) return {};
  return FailErrno(*answer, mount_point + ": publishing what was written");
}

WatchedProcess::WatchedProcess(const MountStatus& status) {
  const auto found = status.pid_namespace ? FindProcess(status.pid, *status.pid_namespace)
                                          : std::optional<pid_t>(status.pid);
  if (!found) return;
  pid_ = *found;
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

WatchedProcess::~WatchedProcess() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool WatchedProcess::WaitForEnd(int milliseconds) const {
  if (descriptor_ < 0) return true;  // gone already, or not to be seen from here
  pollfd ended{descriptor_, POLLIN, 0};
  int result = 0;
  do {
    result = poll(&ended, 1, milliseconds);
  } while (result < 0 && errno == EINTR);
  return result > 0;
}

}  // namespace unshard
