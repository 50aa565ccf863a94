// The life of a mount:
//
// 1. The guardian is forked, before there are threads (fs/kernel/guardian.h).
// 2. The source is opened and mounted. All threads that are started here have the signals blocked
//    that end a mount: only EndAtSignals takes them.
// 3. A thread follows changes of the source, and another one notifies the kernel of them
//    (fs/kernel/notifications.h).
// 4. Requests are served until the file system is unmounted, or a signal ends the mount
//    (fs/kernel/end_at_signals.h).
// 5. Notifications stop, the file system is unmounted, and the guardian ends.
// 6. What the spool holds is published, as long as the store takes it.
#include "fs/kernel/session.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "fs/common/allocator.h"
#include "fs/common/process_table.h"
#include "fs/kernel/device.h"
#include "fs/kernel/end_at_signals.h"
#include "fs/kernel/fuse_mount.h"
#include "fs/kernel/guardian.h"
#include "fs/kernel/interrupts.h"
#include "fs/kernel/mount_checks.h"
#include "fs/kernel/mount_record.h"
#include "fs/kernel/notifications.h"
#include "fs/kernel/operations.h"
#include "fs/kernel/ring_queues.h"
#include "fs/mount/mount.h"
#include "fs/mount/mount_status.h"
#include "store/local/network_file_system.h"
#include "store/object/catch_exceptions.h"
#include "store/object/deadline.h"
#include "store/object/log.h"
#include "store/source/zip_place.h"

namespace unshard {
namespace {

// The most threads that serve requests; they are started as requests come. Views decode on all
// processors.
constexpr unsigned kThreads = 64;
// Each request that reads waits for the server, and no program that reads should wait for others.
constexpr unsigned kThreadsOfServers = 256;
constexpr std::size_t kLargestBuffer = std::size_t{4} << 20;

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
  const bool owner_only =
      !options.allow_other && !options.user && !options.group && !HasMasks(options);
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
    return Fail(ErrorCode::kInvalidArgument, "options ", list, ": libfuse does not accept them");
  }
  return session;
}

// What could not be followed now is followed later.
void Follow(const ChangeWatcher::Event& event, ChangeQueue& changes, VolumeFs& fs,
            Notifications& notifications, const std::stop_token& ending) {
  constexpr std::chrono::seconds kPause{1};
  const Status followed = CatchExceptions([&]() -> Status {
    for (const auto& key : fs.Refresh(event, notifications)) changes.PushLater(key, kPause);
    return {};
  });
  if (followed) return;
  LogWarning("following changes of the source: " + followed.error().message);
  if (Pause(kPause, Deadline{Deadline::None().at, ending}, "")) changes.Push(event);
}

// Runs in a thread of its own until the queue is closed. `ending`: a store is no longer waited for.
void FollowChanges(ChangeQueue& changes, VolumeFs& fs, Notifications& notifications,
                   const std::stop_token& ending) {
  const auto stop = [&] { return ending; };
  const ServedCaller caller(std::chrono::steady_clock::time_point::max(), stop, stop);
  while (const auto item = changes.Pop()) {
    if (const auto* name = std::get_if<ChangeQueue::Name>(&*item)) {
      // The answer of a look-up that began before may still create the dentry.
      fs.AwaitAnswers();
      notifications.InvalidateEntry(name->parent, name->name);
    } else if (const auto* pages = std::get_if<ChangeQueue::Pages>(&*item)) {
      KernelInvalidation(fs.superblock(), notifications).DropPages(pages->node);
    } else {
      Follow(std::get<ChangeWatcher::Event>(*item), changes, fs, notifications, ending);
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
             ", because not everything could be published: " + drained.error().message +
             "; the next mount of the same source publishes them");
  }
  RemoveEmptySpools(fs.volume().spools());
}

// Finds the new mount in the kernel's table, for the volume (OwnMount) and the guardian.
Status MakeKnown(const std::string& mount_point, VolumeFs& fs, Guardian& guardian,
                 Guardian::WhenAlone when_alone) {
  UNSHARD_ASSIGN_OR_RETURN(const auto table, ReadMountTable());
  const auto mount = TopMountAt(table, mount_point);
  if (!mount || !IsOurs(*mount)) {
    return Fail(ErrorCode::kNotFound, mount_point, ": is not in the table of mounts");
  }
  fs.superblock().parts.own_mount->Set(makedev(mount->major, mount->minor));
  return guardian.Watch(*mount, when_alone);
}

// Whether a request may wait for long: a server has the source, behind a URL or a directory.
bool WaitsForServer(const FuseContext& context) {
  return context.is_remote || IsNetworkFileSystem(context.source.get());
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

// One mount, from its beginning to its end.
class ServedMount {
 public:
  ServedMount(MountOptions options, const std::function<void()>& on_mounted)
      : options_(std::move(options)), is_passed_(PassedDevice(options_.mount_point).has_value()) {
    context_.on_ready = on_mounted;
  }
  ~ServedMount() { StopNotifying(); }
  ServedMount(const ServedMount&) = delete;
  ServedMount& operator=(const ServedMount&) = delete;

  // Steps 1 to 3.
  Status Mount();
  // Steps 4 to 6. Fails where the loop has failed.
  Status Serve();

 private:
  void FillContext();
  Status OpenSource();
  Status MountSession();
  Status Guard();
  void StopNotifying();

  MountOptions options_;
  // The device was mounted by another process: where is unknown here, and may be in another mount
  // namespace.
  const bool is_passed_;
  std::unique_ptr<Guardian> guardian_;
  ChangeQueue changes_;
  FuseContext context_;
  std::unique_ptr<VolumeFs> fs_;
  SessionPtr session_;
  std::optional<Notifications> notifications_;  // while follower_ runs
  std::stop_source follower_ends_;
  std::thread follower_;
};

void ServedMount::FillContext() {
  context_.user = options_.user.value_or(getuid());
  context_.group = options_.group.value_or(getgid());
  context_.is_remote = !options_.url.empty();
  if (context_.is_remote) return;
  const auto zip = FindZip(options_);
  const std::string& directory = zip ? zip->above : options_.source;
  context_.source = FileDescriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Status ServedMount::OpenSource() {
  UNSHARD_ASSIGN_OR_RETURN(fs_, OpenVolume(options_, changes_));
  if (!options_.read_only && !fs_->writable()) {
    options_.read_only = true;
    WarnOfUnpublished(options_, "shown here");
  }
  context_.fs = fs_.get();
  const bool waits = WaitsForServer(context_);
  context_.threads =
      waits ? kThreadsOfServers : std::max(kThreads, std::thread::hardware_concurrency());
  context_.passes_through = fs_->writable() && geteuid() == 0;
  // Behind a request that waits another one in its queue would wait with it.
  context_.wants_rings = !waits && !options_.no_io_uring;
  return {};
}

Status ServedMount::MountSession() {
  UNSHARD_ASSIGN_OR_RETURN(session_, MakeSession(options_, context_));
  context_.session = session_.get();
  if (fuse_session_mount(session_.get(), options_.mount_point.c_str()) != 0) {
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
      return FailErrno(errno,
                       "/dev/fuse: this user may not open it; see `ls -l /dev/fuse`, join its "
                       "group, or mount as root");
    }
    return Fail(ErrorCode::kPermissionDenied, options_.mount_point,
                ": cannot mount here, for the reason above; use a directory of your own, and "
                "allow_other only if /etc/fuse.conf has user_allow_other");
  }
  if (context_.passes_through) context_.backing_files.Start(fuse_session_fd(session_.get()));
  TuneFirstReply(session_.get());
  const Status guarded = Guard();
  if (!guarded) LogWarning(guarded.error().message);
  return {};
}

Status ServedMount::Guard() {
  if (!guardian_) return {};
  // A process waits for a daemon in the foreground, or a container runs for it.
  const auto when_alone =
      options_.foreground ? Guardian::WhenAlone::kStay : Guardian::WhenAlone::kEnd;
  return MakeKnown(options_.mount_point, *fs_, *guardian_, when_alone);
}

Status ServedMount::Mount() {
  if (!is_passed_) {
    UNSHARD_ASSIGN_OR_RETURN(guardian_, Guardian::Start(options_.mount_point));
  }
  FillContext();
  const EndingSignalsBlocked blocked;
  UNSHARD_RETURN_IF_ERROR(OpenSource());
  UNSHARD_RETURN_IF_ERROR(MountSession());
  const Status started = CatchExceptions([&]() -> Status {
    notifications_.emplace(session_.get(), fs_->counters());
    follower_ = std::thread([this, ending = follower_ends_.get_token()] {
      FollowChanges(changes_, *fs_, *notifications_, ending);
    });
    return {};
  });
  if (started) return {};
  fuse_session_unmount(session_.get());
  return Forward(started.error(), options_.mount_point + ": starting a thread");
}

void ServedMount::StopNotifying() {
  if (!follower_.joinable()) return;
  changes_.Close();
  follower_ends_.request_stop();
  follower_.join();
  notifications_.reset();
}

Status ServedMount::Serve() {
  std::optional<MountRecord> record;
  if (fs_->writable() && !is_passed_)
    record.emplace(options_.mount_point, fs_->volume().spools().paths);
  Status served;
  const Status caught = CatchExceptions([&]() -> Status {
    const EndAtSignals ending(session_.get(), [this] {
      InterruptStop::EndMount();
      fs_->End();
      StopNotifying();
    });
    served = Loop(session_.get(), options_.mount_point, context_.threads);
    // Answers that are held are sent while there is a session; threads of ring queues wait for
    // them.
    if (fs_->writable()) fs_->volume().writes()->room().End();
    context_.rings.reset();
    return {};
  });
  if (!caught) served = Forward(caught.error(), options_.mount_point);
  // After an unmount notifications fail at once. After a failed loop only the unmount ends a
  // notification that is under way.
  if (served) StopNotifying();
  fuse_session_unmount(session_.get());
  StopNotifying();
  session_.reset();  // closes a device that was passed, which nothing has unmounted
  guardian_.reset();
  if (fs_->writable()) Drain(*fs_);
  return served;
}

}  // namespace

Status ServeMount(const MountOptions& wanted, const std::function<void()>& on_mounted) {
  MountOptions options = wanted;
  // SIGUSR1 and SIGUSR2, which ask some daemons for statistics, must not end the mount, nor must a
  // write to a pipe or socket that its reader has closed: from before it can be seen.
  for (const int harmless : {SIGUSR1, SIGUSR2, SIGPIPE}) signal(harmless, SIG_IGN);
  UNSHARD_RETURN_IF_ERROR(DecideWriting(options));
  WarnOfOthers(options);
  if (options.read_only) WarnOfUnpublished(options, "shown here");
  KeepFreedBuffers(kLargestBuffer);
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor claim, ClaimMountPoint(options.mount_point));
  const std::string mount_point = options.mount_point;
  Status ended;
  const Status caught = CatchExceptions([&]() -> Status {
    ServedMount mount(std::move(options), on_mounted);
    ended = mount.Mount();
    claim = FileDescriptor();
    if (ended) ended = mount.Serve();
    return {};
  });
  if (caught) return ended;
  return Forward(caught.error(), mount_point);
}

Status Unmount(const std::string& mount_point) {
  if (geteuid() != 0) return RunProgram({"fusermount3", "-u", "--", mount_point});
  if (umount2(mount_point.c_str(), UMOUNT_NOFOLLOW) == 0) return {};
  return FailErrno(errno, mount_point + ": unmounting");
}

Status UnmountLazily(const std::string& mount_point) {
  if (geteuid() != 0) return RunProgram({"fusermount3", "-u", "-z", "--", mount_point});
  if (umount2(mount_point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
  return FailErrno(errno, mount_point + ": unmounting");
}

}  // namespace unshard
