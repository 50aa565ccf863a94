#include "fs/kernel/session.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "fs/common/allocator.h"
#include "fs/common/process_table.h"
#include "fs/kernel/device.h"
#include "fs/kernel/end_at_signals.h"
#include "fs/kernel/fuse_mount.h"
#include "fs/kernel/guardian.h"
#include "fs/kernel/mount_record.h"
#include "fs/kernel/operations.h"
#include "fs/kernel/ring_queues.h"
#include "fs/mount/mount.h"
#include "fs/mount/mount_status.h"
#include "store/local/cross_host_locks.h"
#include "store/object/deadline.h"
#include "store/object/log.h"

namespace unshard {
namespace {

constexpr unsigned kThreads = 10;
// Writers wait in their requests while the spool is full; readers must not wait behind them.
constexpr unsigned kWritableThreads = 64;
// Each request that reads waits for the server, and no program that reads should wait for others.
constexpr unsigned kRemoteThreads = 256;
constexpr std::size_t kLargestBuffer = std::size_t{4} << 20;

class SessionNotifier final : public KernelNotifier {
 public:
  SessionNotifier(fuse_session* session, Counters& counters)
      : session_(session), counters_(counters) {}
  void InvalidateEntry(NodeId parent, const std::string& name) override {
    counters_.entries_invalidated.fetch_add(1, std::memory_order_relaxed);
    // -ENOENT: the kernel does not know the name, which is as good.
    fuse_lowlevel_notify_inval_entry(session_, parent, name.c_str(), name.size());
  }
  void InvalidateInode(NodeId node) override {
    fuse_lowlevel_notify_inval_inode(session_, node, 0, 0);
  }

 private:
  fuse_session* const session_;
  Counters& counters_;
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
  // With default_permissions the kernel asks for a directory's attributes again after each name
  // that is created in it. Where only the owner of all files can enter the mount, the checks are
  // not needed.
  const bool masked = options.umask || options.file_mask || options.directory_mask;
  const bool owner_only = !options.allow_other && !options.user && !options.group && !masked;
  if (options.read_only || !owner_only) list += ",default_permissions";
  if (options.read_only) list += ",ro";
  if (options.allow_other) list += ",allow_other";
  for (const std::string& option : options.kernel_options) list += "," + option;
  return list;
}

// Access to a mount is checked against the modes that it presents, and not those of the source.
void WarnOfOthers(const MountOptions& options) {
  struct stat source {};
  if (!options.allow_other || stat(options.source.c_str(), &source) != 0) return;
  const mode_t missing = (S_IROTH | S_IXOTH) & ~source.st_mode;
  if (missing == 0 || (ShownMode(options, true, false) & missing) == 0) return;
  LogWarning(options.source + ": other users may not read this directory, but may read the mount " +
             "(allow_other): say with umask=, fmask= and dmask= what they may");
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
    return Fail(ErrorCode::kInvalidArgument, "options " + list + ": libfuse does not accept them");
  }
  return session;
}

// Handles a mount of ours that is there already: unmounts one whose process is gone.
Status ClearMountPoint(const std::string& mount_point) {
  UNSHARD_ASSIGN_OR_RETURN(const auto table, ReadMountTable());
  const auto mount = TopMountAt(table, mount_point);
  if (!mount || !IsOurs(*mount)) return {};
  switch (HealthOf(*mount)) {
    case MountHealth::kDead:
      LogWarning(mount_point +
                 ": the process of the mount that was there is gone; taking that away");
      return RemoveDeadMount(*mount);
    case MountHealth::kSilent:
      return Fail(ErrorCode::kUnavailable, mount_point + ": the mount of " + mount->source +
                                               " that is there does not answer; end it first: "
                                               "unshard umount " +
                                               mount_point);
    case MountHealth::kAnswers:
      break;
  }
  return Fail(ErrorCode::kInvalidArgument, mount_point + ": " + mount->source +
                                               " is mounted there already; end it first (unshard "
                                               "umount " +
                                               mount_point + ") or use another directory");
}

// Checks beforehand what mount(2) or fusermount3 would report as a bare errno.
Status CheckMountPoint(const std::string& mount_point) {
  UNSHARD_RETURN_IF_ERROR(ClearMountPoint(mount_point));
  struct stat info {};
  if (stat(mount_point.c_str(), &info) != 0) {
    const bool missing = errno == ENOENT;
    Error error = FailErrno(errno, mount_point).value();
    error.message += missing ? "; make this directory first" : "; mount on another directory";
    return tl::unexpected<Error>(std::move(error));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument,
                mount_point + ": is no directory; mount on an existing directory");
  }
  if (access("/dev/fuse", F_OK) != 0) {
    Error error = FailErrno(errno, "/dev/fuse").value();
    error.message +=
        "; load the kernel's module (`modprobe fuse`), or give this device to the container";
    return tl::unexpected<Error>(std::move(error));
  }
  return {};
}

// Runs in a thread of its own until the queue is closed. `ending`: a store is no longer waited for.
void FollowChanges(ChangeQueue& changes, VolumeFs& fs, fuse_session* session,
                   const std::stop_token& ending) {
  const auto stop = [&] { return ending; };
  const ServedCaller caller(std::chrono::steady_clock::time_point::max(), stop, stop);
  SessionNotifier notifier(session, fs.counters());
  while (const auto item = changes.Pop()) {
    if (const auto* name = std::get_if<ChangeQueue::Name>(&*item)) {
      // The answer of a look-up that began before may still create the dentry.
      fs.AwaitAnswers();
      notifier.InvalidateEntry(name->parent, name->name);
    } else if (const auto* pages = std::get_if<ChangeQueue::Pages>(&*item)) {
      // The answer of a read that began before may still fill one.
      fs.AwaitAnswers();
      notifier.InvalidateInode(pages->node);
    } else {
      constexpr std::chrono::seconds kPause{1};
      for (const auto& key : fs.Refresh(std::get<ChangeWatcher::Event>(*item), notifier)) {
        changes.PushLater(key, kPause);
      }
    }
  }
}

// Publishes what is left at the end, as long as the store takes it. The rest stays in the spool for
// the next mount.
void Drain(VolumeFs& fs) {
  WritePipeline& writes = *fs.volume().writes();
  if (const Status drained = writes.Drain(); !drained) {
    const SpoolStatus left = writes.status();
    LogError(DescribeSpooled(left.dirty_chunks, left.dirty_bytes, left.spool) +
             ", since not everything could be published: " + drained.error().message +
             "; the next mount of the same source takes them up");
  }
  RemoveEmptySpools(fs.volume().spools());
}

// Sets which mount of the kernel's table is ours, for the volume and the guardian.
Status MakeKnown(const std::string& mount_point, VolumeFs& fs, Guardian& guardian,
                 Guardian::WhenAlone when_alone) {
  UNSHARD_ASSIGN_OR_RETURN(const auto table, ReadMountTable());
  const auto mount = TopMountAt(table, mount_point);
  if (!mount || !IsOurs(*mount)) {
    return Fail(ErrorCode::kNotFound, mount_point + ": is not in the table of mounts");
  }
  fs.superblock().parts.own_mount->Set(makedev(mount->major, mount->minor));
  return guardian.Watch(*mount, when_alone);
}

// The most threads that serve requests; they are started as requests come.
unsigned ThreadsFor(const FuseContext& context) {
  if (context.is_remote) return kRemoteThreads;
  return context.fs->writable() ? kWritableThreads : kThreads;
}

Status Loop(fuse_session* session, const std::string& mount_point, unsigned threads) {
  std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> config(fuse_loop_cfg_create(),
                                                                        fuse_loop_cfg_destroy);
  fuse_loop_cfg_set_max_threads(config.get(), threads);
  const int result = fuse_session_loop_mt(session, config.get());
  // A positive result is the signal that ended the loop: an ordinary end.
  if (result < 0) return FailErrno(-result, mount_point + ": serving");
  return {};
}

// While threads are started, the signals that end the mount are blocked in all but the main thread.
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
         ", so that hosts that write into one shard would undo each other's work; where no other "
         "host writes there, say so with -o single_writer";
}

// Fails where `rw` was asked for and the source can only be mounted read-only.
Status DecideWriting(MountOptions& options) {
  if (options.read_only) return {};
  const auto why = WhyReadOnly(options);
  if (!why) return {};
  if (options.must_write) {
    return Fail(ErrorCode::kReadOnly, options.source + ": " + *why + "; mount it without rw");
  }
  LogWarning(options.source + ": " + *why + "; mounting read-only");
  options.read_only = true;
  return {};
}

}  // namespace

Status ServeMount(const MountOptions& wanted, const std::function<void()>& on_mounted) {
  MountOptions options = wanted;
  // SIGUSR1 and SIGUSR2, which ask some daemons for statistics, must not end the mount, nor must a
  // write to a pipe or socket that its reader has closed: from before it can be seen.
  for (const int harmless : {SIGUSR1, SIGUSR2, SIGPIPE}) signal(harmless, SIG_IGN);
  UNSHARD_RETURN_IF_ERROR(DecideWriting(options));
  WarnOfOthers(options);
  if (options.read_only) WarnOfUnpublished(options);
  KeepFreedBuffers(kLargestBuffer);
  UNSHARD_RETURN_IF_ERROR(CheckMountPoint(options.mount_point));
  UNSHARD_ASSIGN_OR_RETURN(auto guardian, Guardian::Start(options.mount_point));
  ChangeQueue changes;
  FuseContext context;
  context.user = options.user.value_or(getuid());
  context.group = options.group.value_or(getgid());
  context.on_ready = on_mounted;
  context.is_remote = !options.url.empty();
  if (!context.is_remote) {
    context.source =
        FileDescriptor(open(options.source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  std::unique_ptr<VolumeFs> fs;
  SessionPtr session;
  std::thread follower;
  std::stop_source follower_ends;
  {
    const SignalsBlocked blocked;
    UNSHARD_ASSIGN_OR_RETURN(fs, OpenVolume(options, changes));
    if (!options.read_only && !fs->writable()) {
      options.read_only = true;
      WarnOfUnpublished(options);
    }
    context.fs = fs.get();
    context.threads = ThreadsFor(context);
    context.passes_through = fs->writable() && geteuid() == 0;
    // A request of a remote mount may wait for long, and one behind it in its queue with it.
    context.wants_rings = !context.is_remote && !options.no_io_uring;
    UNSHARD_ASSIGN_OR_RETURN(session, MakeSession(options, context));
    context.session = session.get();
    if (fuse_session_mount(session.get(), options.mount_point.c_str()) != 0) {
      return Fail(ErrorCode::kPermissionDenied,
                  options.mount_point +
                      ": cannot be mounted on, for the reason above; mount on a directory of your "
                      "own, and with allow_other only where /etc/fuse.conf has user_allow_other");
    }
    if (context.passes_through) context.backing_files.Start(fuse_session_fd(session.get()));
    TuneFirstReply(session.get());
    // A process waits for a daemon in the foreground, or a container runs for it.
    const auto when_alone =
        options.foreground ? Guardian::WhenAlone::kStay : Guardian::WhenAlone::kEnd;
    const Status known = MakeKnown(options.mount_point, *fs, *guardian, when_alone);
    if (!known) LogWarning(known.error().message);
    follower = std::thread([&, ending = follower_ends.get_token()] {
      FollowChanges(changes, *fs, session.get(), ending);
    });
  }
  const auto stop_telling = [&] {
    changes.Close();
    follower_ends.request_stop();
    follower.join();
  };
  std::optional<MountRecord> record;
  if (fs->writable()) record.emplace(options.mount_point, fs->volume().spools().paths);
  Status served;
  {
    const EndAtSignals ending(session.get(), [&] {
      fs->End();
      stop_telling();
    });
    served = Loop(session.get(), options.mount_point, context.threads);
    context.rings.reset();
  }
  // After an unmount notifications fail at once; after a failed loop only the unmount ends one that
  // is under way.
  if (served && follower.joinable()) stop_telling();
  fuse_session_unmount(session.get());
  if (follower.joinable()) stop_telling();
  guardian.reset();
  if (fs->writable()) Drain(*fs);
  return served;
}

Status Unmount(const std::string& mount_point) {
  if (geteuid() != 0) return RunProgram({"fusermount3", "-u", "--", mount_point});
  if (umount2(mount_point.c_str(), UMOUNT_NOFOLLOW) == 0) return {};
  return FailErrno(errno, mount_point + ": unmounting");
}

}  // namespace unshard
