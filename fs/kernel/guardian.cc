#include "fs/kernel/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>

#include "fs/common/daemon.h"
#include "fs/kernel/fuse_mount.h"
#include "fs/kernel/mount_namespace.h"

namespace unshard {
namespace {

// Threads of a killed process end within this time unless they are stuck.
constexpr int kEndMilliseconds = 1000;
// Between two scans for other processes: one scan can miss a process that starts another and ends.
constexpr int kPauseMilliseconds = 1000;
constexpr int kMostChecks = 2;
// A process may leave its mount namespace without ending.
constexpr int kStaysMilliseconds = 60000;

// The mount that the guardian watches, as the daemon sends it through the pipe.
struct Order {
  std::uint64_t id = 0;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  bool ends_alone = false;
};

int DeathSignal() { return SIGRTMIN + 7; }

// Overwrites the inherited command line, by which a search for the daemon would find the guardian.
void SetTitle(const std::string& title) {
  prctl(PR_SET_NAME, "unshard-guard");
  constexpr int kArgumentsBegin = 48;  // proc(5), /proc/pid/stat
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream words(text.substr(name_end + 1));
  std::string word;
  for (int field = 3; field < kArgumentsBegin; ++field) words >> word;
  std::uintptr_t begin = 0, end = 0;
  if (!(words >> begin >> end) || begin == 0 || end <= begin) return;
  char* const area = reinterpret_cast<char*>(begin);  // NOLINT: the kernel says where it is
  std::memset(area, 0, end - begin);
  std::memcpy(area, title.data(), std::min<std::size_t>(title.size(), end - begin - 1));
}

sigset_t OnlyDeathSignal() {
  sigset_t death;
  sigemptyset(&death);
  sigaddset(&death, DeathSignal());
  return death;
}

// Returns when the daemon's main thread has ended.
void AwaitDeath() {
  const sigset_t death = OnlyDeathSignal();
  while (sigwaitinfo(&death, nullptr) < 0) {
  }
}

int OpenProcess(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

// Waits until the daemon's main thread has ended, another process has (-1: none), or the time is
// over. True for the first.
bool DiesWithin(int milliseconds, int death, int other) {
  pollfd ends[] = {{death, POLLIN, 0}, {other, POLLIN, 0}};
  return poll(ends, 2, milliseconds) > 0 && ends[0].revents != 0;
}

// True when all other programs have left the mount namespace; false when the daemon's main thread
// has ended before.
bool OthersLeave() {
  const sigset_t signals = OnlyDeathSignal();
  const FileDescriptor death(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!death.valid()) return false;
  for (int looks = 0; looks < kMostChecks; ++looks) {
    if (const auto other = OtherInMountNamespace()) {
      looks = -1;
      const FileDescriptor process(OpenProcess(*other));
      if (process.valid() && DiesWithin(kStaysMilliseconds, death.get(), process.get())) {
        return false;
      }
    }
    if (DiesWithin(kPauseMilliseconds, death.get(), -1)) return false;
  }
  return true;
}

// True once no thread of the daemon is left. Then its device is closed, which has ended the
// connection, and another mount may already have its number and mount point.
bool EndsWithin(int daemon, int milliseconds) {
  pollfd ended{daemon, POLLIN, 0};
  int result = 0;
  do {
    result = poll(&ended, 1, milliseconds);
  } while (result < 0 && errno == EINTR);
  return result > 0;
}

bool ReadOrder(int orders, Order& order) {
  ssize_t got = 0;
  do {
    got = read(orders, &order, sizeof order);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof order);
}

// The number of a connection is free for another mount once it is unmounted.
void AbortIfStillMounted(const std::string& mount_point, const Order& order) {
  const auto table = ReadMountTable();
  if (!table) return;
  const auto mount = TopMountAt(*table, mount_point);
  if (!mount || mount->id != order.id || mount->major != order.major ||
      mount->minor != order.minor) {
    return;
  }
  static_cast<void>(AbortConnection(*mount));
}

[[noreturn]] void Guard(const std::string& mount_point, pid_t daemon, int inherited) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_PDEATHSIG, DeathSignal());
  if (getppid() != daemon) _exit(0);
  setsid();
  const int orders = KeepOnly(inherited);
  SetTitle("unshard: guardian of " + mount_point);
  const int process = OpenProcess(daemon);
  if (getppid() != daemon) _exit(0);
  Order order;
  // Without an order the daemon has ended before it mounted anything.
  if (!ReadOrder(orders, order)) _exit(0);
  MountEntry mount;
  mount.mount_point = mount_point;
  mount.major = order.major;
  mount.minor = order.minor;
  const int abort = OpenAbortFile(mount);
  close(orders);
  if (order.ends_alone && MountNamespaceEndsWithProcesses() && OthersLeave()) {
    syscall(SYS_pidfd_send_signal, process, SIGTERM, nullptr, 0);
  }
  AwaitDeath();
  if (EndsWithin(process, kEndMilliseconds)) _exit(0);
  if (abort < 0 || write(abort, "1", 1) != 1) AbortIfStillMounted(mount_point, order);
  _exit(0);
}

}  // namespace

Result<std::unique_ptr<Guardian>> Guardian::Start(const std::string& mount_point) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FailErrno(errno, mount_point + ": starting its guardian");
  const FileDescriptor theirs(ends[0]);
  FileDescriptor ours(ends[1]);
  const pid_t daemon = getpid();
  const pid_t process = fork();
  if (process < 0) return FailErrno(errno, mount_point + ": starting its guardian");
  if (process == 0) {
    // With its own copy of the write end the guardian would never read the end of the pipe.
    close(ours.Release());
    Guard(mount_point, daemon, theirs.get());
  }
  return std::unique_ptr<Guardian>(new Guardian(mount_point, process, std::move(ours)));
}

Guardian::~Guardian() {
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Guardian::Watch(const MountEntry& mount, WhenAlone when_alone) {
  Order order;
  order.id = mount.id;
  order.major = mount.major;
  order.minor = mount.minor;
  order.ends_alone = when_alone == WhenAlone::kEnd && !mount.shared;
  // Fewer bytes than a pipe holds: written at once.
  const ssize_t written = write(orders_.get(), &order, sizeof order);
  const int error = errno;
  orders_ = FileDescriptor();
  if (written == static_cast<ssize_t>(sizeof order)) return {};
  return FailErrno(error, mount_point_ + ": starting its guardian");
}

}  // namespace unshard
