#include "fs/kernel/mount_table.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "fs/common/daemon.h"
#include "fs/common/process_table.h"
#include "store/local/file_descriptor.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr int kAnswerMilliseconds = 1000;
// On a machine under load, with a spool that is full, an answer may take its time.
constexpr int kSilentTries = 20;
constexpr int kMostLinks = 40;

// The table writes spaces, tabs, line breaks and backslashes as three octal digits.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const std::string digits(text.substr(i + 1, 3));
      plain += static_cast<char>(std::strtol(digits.c_str(), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool IsOption(const std::string& list, std::string_view wanted) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == wanted) return true;
  }
  return false;
}

// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::optional<MountEntry> ParseLine(const std::string& line) {
  std::istringstream words(line);
  MountEntry entry;
  std::string parent, device, root, mount_point, options, word, source, super_options;
  if (!(words >> entry.id >> parent >> device >> root >> mount_point >> options)) return {};
  while (words >> word && word != "-") {
    if (word.starts_with("shared:")) entry.shared = true;
  }
  if (word != "-" || !(words >> entry.type >> source)) return {};
  words >> super_options;
  char colon = 0;
  std::istringstream numbers(device);
  if (!(numbers >> entry.major >> colon >> entry.minor)) return {};
  entry.root = Unescaped(root);
  entry.mount_point = Unescaped(mount_point);
  entry.source = Unescaped(source);
  entry.read_only = IsOption(options, "ro") || IsOption(super_options, "ro");
  return entry;
}

// A request to a mount, sent by a process of its own. That is no child of ours, because one that
// waits for a dead mount cannot always be killed, and so not be waited for.
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

// The same directory by its path below the root of the file system.
std::string PathInside(const MountEntry& mount, const std::string& path) {
  const std::size_t above = mount.mount_point == "/" ? 0 : mount.mount_point.size();
  return (mount.root == "/" ? "" : mount.root) + path.substr(std::min(above, path.size()));
}

Status ForceAbort(const MountEntry& mount) {
  // The descriptor keeps the mount busy, so that force aborts the connection and unmounts nothing.
  const FileDescriptor busy(open(mount.mount_point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (umount2(mount.mount_point.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW) == 0 || errno == EBUSY) {
    return {};
  }
  return FailErrno(errno, mount.mount_point + ": aborting its connection");
}

}  // namespace

std::vector<MountEntry> ParseMountTable(std::string_view text) {
  std::vector<MountEntry> table;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = ParseLine(line)) table.push_back(*std::move(entry));
  }
  return table;
}

Result<std::vector<MountEntry>> ReadMountTable(const std::string& process) {
  const std::string path = process + "/mountinfo";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Fail(ErrorCode::kUnavailable, path + ": cannot be read; mount /proc first");
  }
  return ParseMountTable(text.str());
}

std::optional<MountEntry> TopMountAt(const std::vector<MountEntry>& table, std::string_view path) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mount_point == path) return *entry;
  }
  return std::nullopt;
}

std::optional<MountEntry> MountHolding(const std::vector<MountEntry>& table,
                                       std::string_view path) {
  for (std::string_view above = path; !above.empty();) {
    if (auto entry = TopMountAt(table, above)) return entry;
    const std::size_t slash = above.rfind('/');
    if (above == "/" || slash == std::string_view::npos) break;
    above = slash == 0 ? "/" : above.substr(0, slash);
  }
  return std::nullopt;
}

bool IsInside(const std::vector<MountEntry>& table, const std::string& path,
              const std::string& directory) {
  if (IsAtOrBelow(path, directory)) return true;
  const auto outer = MountHolding(table, directory);
  const auto inner = MountHolding(table, path);
  if (!outer || !inner || outer->major != inner->major || outer->minor != inner->minor)
    return false;
  return IsAtOrBelow(PathInside(*inner, path), PathInside(*outer, directory));
}

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

MountHealth HealthOf(const MountEntry& mount, std::vector<pid_t>* servers) {
  const Question question(mount.mount_point);
  for (int i = 0; i < kSilentTries; ++i) {
    if (const auto answer = question.Wait(kAnswerMilliseconds)) {
      const bool gone = *answer == ENOTCONN || *answer == ECONNABORTED;
      return gone ? MountHealth::kDead : MountHealth::kAnswers;
    }
    const std::vector<pid_t> found = ServersOf(mount.minor);
    // From inside a pid name space the processes outside it cannot be seen.
    if (found.empty() && SeesAllProcesses()) return MountHealth::kDead;
    if (servers != nullptr) *servers = found;
  }
  return MountHealth::kSilent;
}

int OpenAbortFile(const MountEntry& mount) {
  const std::string path = "/sys/fs/fuse/connections/" + std::to_string(mount.minor) + "/abort";
  return open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

Status AbortConnection(const MountEntry& mount) {
  const FileDescriptor abort(OpenAbortFile(mount));
  if (abort.valid() && write(abort.get(), "1", 1) == 1) return {};
  if (geteuid() == 0) return ForceAbort(mount);
  return Fail(ErrorCode::kPermissionDenied,
              mount.mount_point +
                  ": its connection cannot be aborted: /sys/fs/fuse/connections is not mounted or "
                  "belongs to another user; as root, `umount -f " +
                  mount.mount_point + "` ends it");
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
