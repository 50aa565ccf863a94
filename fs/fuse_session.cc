#include "fs/fuse_session.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "fs/end_at_signals.h"
#include "fs/fuse_device.h"
#include "fs/fuse_operations.h"
#include "fs/mount.h"
#include "fs/spool_folder.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr unsigned kThreads = 10;
// Writers wait in their requests while the spool is full; readers must not wait behind them.
constexpr unsigned kWritableThreads = 64;
constexpr int kMallocKeeps = 4 << 20;

class SessionNotifier final : public KernelNotifier {
 public:
  explicit SessionNotifier(fuse_session* session) : session_(session) {}
  void InvalidateEntry(NodeId parent, const std::string& name) override {
    // -ENOENT: the kernel does not know the name, which is as good.
    fuse_lowlevel_notify_inval_entry(session_, parent, name.c_str(), name.size());
  }
  void InvalidateInode(NodeId node) override {
    fuse_lowlevel_notify_inval_inode(session_, node, 0, 0);
  }

 private:
  fuse_session* const session_;
};

struct DestroySession {
  void operator()(fuse_session* session) const { fuse_session_destroy(session); }
};
using SessionPtr = std::unique_ptr<fuse_session, DestroySession>;

// Commas and backslashes separate and escape mount options.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ',' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string KernelOptions(const MountOptions& options) {
  std::string list = "subtype=unshard,fsname=" + Escaped(options.source);
  // Checking modes, the kernel asks for those of a directory again after each name that is made in
  // it. Where only the owner of all files gets in he may do all that he might want to.
  const bool owner_only =
      !options.allow_other && !options.user && !options.group && options.umask == 0;
  if (options.read_only || !owner_only) list += ",default_permissions";
  if (options.read_only) list += ",ro";
  if (options.allow_other) list += ",allow_other";
  for (const std::string& option : options.kernel_options) list += "," + option;
  return list;
}

Result<SessionPtr> MakeSession(const MountOptions& options, FuseContext& context) {
  const std::string list = KernelOptions(options);
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "unshard");
  fuse_opt_add_arg(&arguments, "-o");
  fuse_opt_add_arg(&arguments, list.c_str());
  const fuse_lowlevel_ops operations = FuseOperations(context.fs->writable());
  SessionPtr session(fuse_session_new(&arguments, &operations, sizeof operations, &context));
  fuse_opt_free_args(&arguments);
  if (!session) {
    return Fail(ErrorCode::kInvalidArgument, "libfuse does not accept the options " + list);
  }
  return session;
}

// Says in words what mount(2) or fusermount3 would say in numbers, before they are asked.
Status CheckMountPoint(const std::string& mount_point) {
  struct stat info {};
  struct statvfs unused {};
  // The kernel may know a dead mount's attributes by heart, but never what statfs would answer.
  if (stat(mount_point.c_str(), &info) != 0 ||
      (statvfs(mount_point.c_str(), &unused) != 0 && errno == ENOTCONN)) {
    if (errno != ENOTCONN) return FailErrno(errno, mount_point);
    LogWarning(mount_point + ": clearing away a mount whose process is gone");
    UNSHARD_RETURN_IF_ERROR(Unmount(mount_point));
    if (stat(mount_point.c_str(), &info) != 0) return FailErrno(errno, mount_point);
  }
  if (!S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, mount_point + ": not a directory");
  }
  if (access("/dev/fuse", F_OK) != 0) {
    return FailErrno(errno, "/dev/fuse (is the fuse kernel module loaded?)");
  }
  return {};
}

// Runs in a thread of its own until the queue is closed.
void FollowChanges(ChangeQueue& changes, VolumeFs& fs, fuse_session* session) {
  SessionNotifier notifier(session);
  while (const auto item = changes.Pop()) {
    if (const auto* name = std::get_if<ChangeQueue::Name>(&*item)) {
      notifier.InvalidateEntry(name->parent, name->name);
    } else {
      fs.Refresh(std::get<ChangeWatcher::Event>(*item), notifier);
    }
  }
}

// Publishes what is left at the end. What cannot be published stays in the spool for the next
// mount.
void Drain(VolumeFs& fs) {
  if (const Status flushed = fs.FlushAll(); !flushed) {
    LogError("not everything could be published: " + flushed.error().message + "; the rest is in " +
             fs.writing().paths.front() + " and will be taken up by the next mount");
  }
  RemoveEmptySpools(fs.writing());
}

Status Loop(fuse_session* session, const std::string& mount_point, unsigned threads) {
  std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> config(fuse_loop_cfg_create(),
                                                                        fuse_loop_cfg_destroy);
  fuse_loop_cfg_set_max_threads(config.get(), threads);
  const int result = fuse_session_loop_mt(session, config.get());
  // A positive result is the signal that ended the loop: an ordinary end.
  if (result < 0) return FailErrno(-result, "serving " + mount_point);
  return {};
}

// While threads are started, the signals that end the mount belong to the main thread alone.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

Status RunProgram(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return FailErrno(errno, "fork");
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return FailErrno(errno, "waitpid");
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  return Fail(ErrorCode::kUnavailable, words[0] + " failed");
}

}  // namespace

Status ServeMount(const MountOptions& wanted, const std::function<void()>& on_mounted) {
  MountOptions options = wanted;
  if (!options.read_only && access(options.source.c_str(), W_OK) != 0 &&
      (errno == EACCES || errno == EROFS || errno == EPERM)) {
    LogWarning(options.source + ": cannot be written to (" + std::strerror(errno) +
               "): mounting read-only");
    options.read_only = true;
  }
  // Few arenas: the caches decide how much memory is used, not the number of threads.
  mallopt(M_ARENA_MAX, 2);
  // Buffers of chunk size come and go with every request: giving their pages back to the system and
  // taking them again costs more than the decoding of small chunks.
  mallopt(M_TRIM_THRESHOLD, kMallocKeeps);
  mallopt(M_MMAP_THRESHOLD, kMallocKeeps);
  UNSHARD_RETURN_IF_ERROR(CheckMountPoint(options.mount_point));
  ChangeQueue changes;
  FuseContext context;
  context.user = options.user.value_or(getuid());
  context.group = options.group.value_or(getgid());
  context.on_ready = on_mounted;

  std::unique_ptr<VolumeFs> fs;
  SessionPtr session;
  std::thread follower;
  {
    const SignalsBlocked blocked;
    UNSHARD_ASSIGN_OR_RETURN(fs, OpenVolume(options, changes));
    context.fs = fs.get();
    UNSHARD_ASSIGN_OR_RETURN(session, MakeSession(options, context));
    if (fuse_session_mount(session.get(), options.mount_point.c_str()) != 0) {
      return Fail(ErrorCode::kPermissionDenied,
                  "cannot mount on " + options.mount_point + " (see the line above)");
    }
    TuneFirstReply(session.get());
    follower = std::thread([&] { FollowChanges(changes, *fs, session.get()); });
  }
  const auto stop_telling = [&] {
    changes.Close();
    follower.join();
  };
  Status served;
  {
    const EndAtSignals ending(session.get(), stop_telling);
    served = Loop(session.get(), options.mount_point, fs->writable() ? kWritableThreads : kThreads);
  }
  // What was unmounted tells nobody anything any more; after a failure only unmounting makes sure.
  if (served && follower.joinable()) stop_telling();
  fuse_session_unmount(session.get());
  if (follower.joinable()) stop_telling();
  if (fs->writable()) Drain(*fs);
  return served;
}

Status Unmount(const std::string& mount_point) {
  if (geteuid() != 0) return RunProgram({"fusermount3", "-u", "--", mount_point});
  if (umount2(mount_point.c_str(), UMOUNT_NOFOLLOW) == 0) return {};
  return FailErrno(errno, "unmounting " + mount_point);
}

}  // namespace unshard
