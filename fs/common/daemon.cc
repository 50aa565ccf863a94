#include "fs/common/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "store/object/log.h"

namespace unshard {
namespace {

void DropStandardFiles() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
  if (null > STDERR_FILENO) close(null);
}

// Only once it is mounted: while a mount point is being mounted, automount(8) lets only its own
// session and process group access it, so a daemon that had left them would wait for itself.
void Detach(int ready_pipe) {
  setsid();
  if (chdir("/") != 0)
    LogWarning("/: the daemon cannot change to this directory, so its own directory stays busy");
  const char ready = 1;
  const ssize_t written = write(ready_pipe, &ready, 1);
  close(ready_pipe);
  if (written != 1) LogWarning("mount: the process that started it has gone away");
  DropStandardFiles();
}

int WaitForChild(int ready_pipe, pid_t child) {
  char ready = 0;
  ssize_t got = 0;
  do {
    got = read(ready_pipe, &ready, 1);
  } while (got < 0 && errno == EINTR);
  close(ready_pipe);
  if (got == 1) return 0;
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return 1;
}

}  // namespace

void OpenStandardFiles() {
  int opened = 0;
  do {
    opened = open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) close(opened);
}

int KeepOnly(int descriptor) {
  constexpr int kKept = STDERR_FILENO + 1;
  DropStandardFiles();
  if (chdir("/") != 0) return -1;
  if (dup2(descriptor, kKept) < 0) return -1;
  closefrom(kKept + 1);
  return kKept;
}

int RunInBackground(const std::function<Status(const std::function<void()>& ready)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    LogError(FailErrno(errno, "mount: starting the daemon").value().message);
    return 1;
  }
  const pid_t child = fork();
  if (child < 0) {
    LogError(FailErrno(errno, "mount: starting the daemon").value().message);
    return 1;
  }
  if (child != 0) {
    close(ends[1]);
    return WaitForChild(ends[0], child);
  }
  close(ends[0]);
  const Status status = work([&] { Detach(ends[1]); });
  if (!status) LogError(status.error().message);
  // Not exit(), which would flush streams of the parent.
  _exit(status ? 0 : 1);
}

}  // namespace unshard
