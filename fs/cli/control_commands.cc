#include "fs/cli/control_commands.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "codec/core/escaped_text.h"
#include "fs/cli/mount_client.h"
#include "fs/cli/mount_command.h"
#include "fs/common/readable.h"
#include "fs/kernel/fuse_mount.h"
#include "fs/kernel/mount_record.h"
#include "fs/kernel/session.h"
#include "store/local/posix_file_system.h"
#include "store/object/key.h"
#include "store/spool/spool.h"
#include "store/spool/spool_contents.h"
#include "store/volume/spool_folder.h"

namespace unshard {
namespace {

constexpr int kEndMilliseconds = 30000;
constexpr std::size_t kBarWidth = 40;
constexpr std::size_t kMostHolders = 5;

// "[#####.....] 12 of 40 chunks": one line that is redrawn on a terminal. Prints nothing elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(std::uint64_t total)
      : total_(total), shown_(total > 0 && isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() {
    if (shown_) std::cerr << "\r\x1b[K" << std::flush;
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(const MountStatus& status) {
    if (!shown_ || !status.write) return;
    // Chunks that were committed since are not waited for, so the bar never goes back.
    const std::uint64_t left = std::min(status.write->dirty_chunks, total_);
    published_ = std::max(published_, total_ - left);
    const std::size_t filled = static_cast<std::size_t>(published_ * kBarWidth / total_);
    std::cerr << "\r[" << std::string(filled, '#') << std::string(kBarWidth - filled, '.') << "] "
              << published_ << " of " << Counted(total_, "chunk") << " published\x1b[K"
              << std::flush;
  }

 private:
  const std::uint64_t total_;
  const bool shown_;
  std::uint64_t published_ = 0;
};

Status FlushWithProgress(const std::string& mount_point, const MountStatus& before) {
  ProgressBar bar(before.write ? before.write->dirty_chunks : 0);
  bar.Show(before);
  return FlushMount(mount_point, [&](const MountStatus& status) { bar.Show(status); });
}

// Prints why a flush failed, from the mount's own status where that can be read.
void PrintFailure(const std::string& mount_point, const Error& error,
                  const std::optional<SpoolStatus>& write) {
  if (write && write->last_failure) {
    std::cerr << "unshard: " << Printable(mount_point)
              << ": not everything could be published: " << Printable(write->last_failure->message)
              << " (" << write->last_failure->errno_name << ")\n";
  } else {
    ReportFailure(error);
  }
}

int ReportSilent(const MountEntry& mount, const std::vector<pid_t>& servers) {
  std::cerr << "unshard: " << Printable(mount.mount_point) << ": the mount does not answer, and ";
  if (servers.empty()) {
    std::cerr << "its process cannot be seen from here; if that process is gone, `umount -f` ends "
                 "the mount\n";
    return 1;
  }
  std::cerr << (servers.size() == 1 ? "is served by process" : "may be served by processes");
  for (const pid_t server : servers) std::cerr << " " << server;
  std::cerr
      << "; try again, or kill the process and then unmount: closed files stay in the spool\n";
  return 1;
}

// False where a mount of ours is at the path and does not answer, which is reported.
bool Answers(const std::string& mount_point) {
  const auto table = ReadMountTable();
  const auto mount = table ? TopMountAt(*table, mount_point) : std::nullopt;
  if (!mount || !IsOurs(*mount)) return true;  // ReadMountStatus says so
  const MountHealth health = HealthOf(*mount);
  if (health.state != MountHealth::State::kSilent) return true;
  ReportSilent(*mount, health.servers);
  return false;
}

int WatchStatus(const std::string& mount_point) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  for (bool first = true;; first = false) {
    const auto status = ReadMountStatus(mount_point);
    if (!status) {
      if (first) return ReportFailure(status.error());
      std::cout << "the mount has ended: " << status.error().message << std::endl;
      return 0;
    }
    if (terminal) {
      std::cout << "\x1b[H\x1b[2J" << DescribeMountStatus(*status) << std::flush;
    } else {
      std::cout << SummarizeMountStatus(*status) << std::endl;
    }
    if (!std::cout) return 1;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

// Names the chunks that are quarantined, and what can be done about them. True where none is.
bool ReportQuarantined(const std::vector<SpoolConflict>& quarantined, const std::string& source) {
  constexpr std::size_t kMostNamed = 20;
  for (std::size_t i = 0; i < quarantined.size() && i < kMostNamed; ++i) {
    const SpoolConflict& one = quarantined[i];
    std::cerr << "unshard: " << Printable(JoinPath(one.dataset, one.chunk))
              << ": not published, but quarantined as " << Printable(one.path) << "\n";
  }
  if (quarantined.empty()) return true;
  if (quarantined.size() > kMostNamed) {
    std::cerr << "unshard: " << quarantined.size() - kMostNamed << " more are quarantined\n";
  }
  std::cerr << "unshard: `unshard spool list -v` says why; `unshard spool export DIRECTORY "
            << Printable(source) << "` copies them, `unshard spool drop " << Printable(source)
            << " CHUNK` removes one for good\n";
  return false;
}

// Names the scratch files, which the end of the mount removes. They are no failure: programs leave
// them behind.
void ReportScratch(const SpoolStatus& write, const char* what) {
  constexpr std::size_t kMostNamed = 5;
  if (write.scratch_files == 0) return;
  std::cerr << "unshard: " << Counted(write.scratch_files, "scratch file") << " " << what << ": ";
  for (std::size_t i = 0; i < write.scratch.size() && i < kMostNamed; ++i) {
    std::cerr << (i > 0 ? ", " : "") << Printable(write.scratch[i]);
  }
  std::cerr << (write.scratch_files > kMostNamed ? ", …\n" : "\n");
}

// What the mount has quarantined, in all its spools.
std::vector<SpoolConflict> QuarantinedIn(const SpoolStatus& write) {
  std::vector<SpoolConflict> all = write.conflicting;
  all.insert(all.end(), write.quarantined.begin(), write.quarantined.end());
  return all;
}

// The same, with what its own spool holds by now.
std::vector<SpoolConflict> QuarantinedNow(const SpoolStatus& write,
                                          const Result<SpoolContents>& contents) {
  std::vector<SpoolConflict> all = QuarantinedIn(write);
  if (!contents) return all;
  for (const auto& files : {contents->conflicts, contents->damaged}) {
    for (const SpoolFile& file : files) {
      const std::string path = write.spool + "/" + file.path;
      const bool known = std::any_of(all.begin(), all.end(),
                                     [&](const SpoolConflict& one) { return one.path == path; });
      if (!known) all.push_back({file.chunk.dataset, file.chunk.chunk, file.chunk.sequence, path});
    }
  }
  return all;
}

// Reports what the spool holds after the end of the mount, or, where it cannot be read, what the
// mount reported last. True where nothing is left.
bool ReportWhatIsLeft(const SpoolStatus& write, const std::string& source) {
  const auto contents = ReadSpool(write.spool);
  const bool none_kept = ReportQuarantined(QuarantinedNow(write, contents), source);
  const bool gone = !contents && contents.error().system_errno == ENOENT;
  const std::uint64_t chunks = gone ? 0 : contents ? contents->chunks.size() : write.dirty_chunks;
  if (chunks == 0) return none_kept;
  std::cerr << "unshard: "
            << DescribeSpooled(chunks, contents ? contents->bytes : write.dirty_bytes, write.spool)
            << "; the next mount of the same source publishes them, or `unshard spool publish`\n";
  return false;
}

int ReportNoMount(const std::string& mount_point, const std::optional<MountEntry>& mount) {
  std::cerr << "unshard: " << Printable(mount_point) << ": "
            << (mount
                    ? "holds a mount of type " + mount->type + ", not of unshard; umount(8) ends it"
                    : "nothing is mounted there; `unshard list` shows all mounts")
            << "\n";
  return 1;
}

int ReportFailedUnmount(const MountEntry& mount, const Error& error) {
  const std::vector<std::string> holders = HoldersOf(mount);
  if (holders.empty() && error.system_errno != EBUSY) return ReportFailure(error);
  if (holders.empty()) {
    std::cerr << "unshard: " << Printable(mount.mount_point)
              << ": busy, and still mounted: no process that can be seen from here uses it; leave "
                 "the directory in other sessions and containers, unmount what is mounted below it "
                 "(`findmnt -R`), then unmount again\n";
    return 1;
  }
  std::cerr << "unshard: " << Printable(mount.mount_point) << ": busy, and still mounted: ";
  for (std::size_t i = 0; i < holders.size() && i < kMostHolders; ++i) {
    std::cerr << (i > 0 ? ", " : "") << holders[i];
  }
  if (holders.size() > kMostHolders) std::cerr << ", …";
  std::cerr << (holders.size() == 1 ? " uses it" : " use it")
            << "; end the process or leave the directory, then unmount again\n";
  return 1;
}

int UmountAlive(const MountEntry& mount, Unmounting how) {
  const std::string& mount_point = mount.mount_point;
  const auto before = ReadMountStatus(mount_point);
  std::optional<WatchedProcess> process;
  if (before) process.emplace(*before);
  bool all_published = true;
  std::optional<SpoolStatus> write = before ? before->write : std::nullopt;
  if (write) {
    const Status flushed = FlushWithProgress(mount_point, *before);
    if (const auto after = ReadMountStatus(mount_point)) write = after->write;
    if (!flushed) PrintFailure(mount_point, flushed.error(), write);
    all_published = flushed.has_value();
  }
  const bool lazy = how == Unmounting::kLazy;
  const Status unmounted = lazy ? UnmountLazily(mount_point) : Unmount(mount_point);
  if (!unmounted) return ReportFailedUnmount(mount, unmounted.error());
  if (!lazy && process && !process->WaitForEnd(kEndMilliseconds)) {
    std::cerr << "unshard: " << Printable(mount_point) << ": unmounted, but process "
              << process->pid()
              << " has not ended yet; `unshard spool list` shows what it still publishes\n";
  }
  if (write) ReportScratch(*write, "ended with the mount and are not in the source");
  if (write && !ReportWhatIsLeft(*write, before->source)) all_published = false;
  return all_published ? 0 : 1;
}

// Reports what stays in this spool of a dead mount, unless a live mount has taken it over since.
bool ReportDeadSpool(const std::string& path, const std::string& source) {
  const auto folder = OpenPosixFileSystem(ParentPath(path));
  const auto found = folder ? FindSpools(**folder) : Result<std::vector<FoundSpool>>();
  if (!found) return true;
  const bool taken_over = std::any_of(found->begin(), found->end(), [&](const FoundSpool& one) {
    return one.alive && one.path == BaseName(path);
  });
  SpoolStatus left;
  left.spool = path;
  return taken_over || ReportWhatIsLeft(left, source);
}

// The spools from the record of a dead mount; without a record, those of the usual folder.
std::vector<std::string> SpoolsOfDeadMount(const MountEntry& mount) {
  std::vector<std::string> paths = TakeMountRecord(mount.mount_point);
  if (!paths.empty()) return paths;
  const std::string folder = DefaultSpoolFolder();
  const auto files = OpenPosixFileSystem(folder);
  const auto found = files ? FindSpools(**files) : Result<std::vector<FoundSpool>>();
  for (const FoundSpool& spool : found ? *found : std::vector<FoundSpool>()) {
    if (spool.source == mount.source) paths.push_back(folder + "/" + spool.path);
  }
  return paths;
}

int UmountDead(const MountEntry& mount) {
  if (const Status removed = RemoveDeadMount(mount); !removed) {
    return ReportFailure(removed.error());
  }
  bool nothing_left = true;
  for (const std::string& path : SpoolsOfDeadMount(mount)) {
    if (!ReportDeadSpool(path, mount.source)) nothing_left = false;
  }
  return nothing_left ? 0 : 1;
}

}  // namespace

int RunStatus(const StatusCommand& command) {
  const std::string mount_point = MountPointPath(command.mount_point);
  if (!Answers(mount_point)) return 1;
  if (command.watch) return WatchStatus(mount_point);
  const auto status = ReadMountStatus(mount_point);
  if (!status) return ReportFailure(status.error());
  std::cout << (command.json ? status->text : DescribeMountStatus(*status));
  return 0;
}

int RunFlush(const std::string& given) {
  const std::string mount_point = MountPointPath(given);
  if (!Answers(mount_point)) return 1;
  const auto before = ReadMountStatus(mount_point);
  if (!before) return ReportFailure(before.error());
  if (!before->write) return 0;  // without a spool nothing can be waiting
  const Status flushed = FlushWithProgress(mount_point, *before);
  const auto after = ReadMountStatus(mount_point);
  const auto write = after ? after->write : before->write;
  if (!flushed) PrintFailure(mount_point, flushed.error(), write);
  if (write) {
    ReportScratch(*write, "of the mount will not reach the source, and end with the mount");
  }
  const bool none_kept = !write || ReportQuarantined(QuarantinedIn(*write), before->source);
  if (flushed) return none_kept ? 0 : 1;
  if (write && write->dirty_chunks != 0) {
    std::cerr << "unshard: "
              << DescribeSpooled(write->dirty_chunks, write->dirty_bytes, write->spool)
              << "; the mount goes on trying\n";
  }
  return 1;
}

int RunUmount(const std::string& given, Unmounting how) {
  const std::string mount_point = MountPointPath(given);
  const auto table = ReadMountTable();
  if (!table) return ReportFailure(table.error());
  const auto mount = TopMountAt(*table, mount_point);
  if (!mount || !IsOurs(*mount)) return ReportNoMount(mount_point, mount);
  // This process, started in the mount, must not keep it busy.
  if (chdir("/") != 0) return ReportFailure(FailErrno(errno, "/").value());
  if (how == Unmounting::kForced) {
    if (umount2(mount_point.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW) == 0) return 0;
    return ReportFailure(FailErrno(errno, mount_point + ": unmounting").value());
  }
  const MountHealth health = HealthOf(*mount);
  switch (health.state) {
    case MountHealth::State::kAnswers:
      return UmountAlive(*mount, how);
    case MountHealth::State::kDead:
      return UmountDead(*mount);
    case MountHealth::State::kSilent:
      if (how == Unmounting::kLazy) {
        const Status unmounted = UnmountLazily(mount_point);
        return unmounted ? 0 : ReportFailure(unmounted.error());
      }
      return ReportSilent(*mount, health.servers);
  }
  return 1;
}

}  // namespace unshard
