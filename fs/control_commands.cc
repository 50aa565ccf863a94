#include "fs/control_commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <thread>

#include "fs/error_log.h"
#include "fs/fuse_session.h"
#include "fs/mount_client.h"
#include "fs/mount_command.h"
#include "fs/readable.h"
#include "fs/spool_contents.h"

namespace unshard {
namespace {

constexpr int kEndMilliseconds = 30000;
constexpr std::size_t kBarWidth = 40;

// "[#####.....] 12 of 40 chunks": one line that is drawn over again. Says nothing elsewhere.
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
    // Chunks that came since are not what we wait for, so the bar never goes back.
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

// What a failed flush leaves behind, for people; nothing where that is not known.
void PrintFailure(const Error& error, const std::optional<WriteStatus>& write) {
  std::cerr << "unshard: "
            << ErrnoName(error.system_errno != 0 ? error.system_errno : ErrnoOf(error)) << ": "
            << error.message << "\n";
  if (!write) return;
  if (write->last_failure) {
    std::cerr << "unshard: " << write->last_failure->errno_name << ": "
              << write->last_failure->message << "\n";
  }
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

// After the end of the mount the spool itself tells what is left, and where it cannot be read what
// the mount said last. True where nothing is.
bool ReportWhatIsLeft(const WriteStatus& write) {
  const auto contents = ReadSpool(write.spool);
  const bool gone = !contents && contents.error().system_errno == ENOENT;
  const std::uint64_t chunks = gone ? 0 : contents ? contents->chunks.size() : write.dirty_chunks;
  if (chunks == 0) return true;
  std::cerr << "unshard: "
            << DescribeSpooled(chunks, contents ? contents->bytes : write.dirty_bytes, write.spool)
            << "; the next mount of the same source publishes them, or `unshard spool publish`\n";
  return false;
}

}  // namespace

int RunStatus(const StatusCommand& command) {
  const std::string mount_point = AbsolutePath(command.mount_point);
  if (command.watch) return WatchStatus(mount_point);
  const auto status = ReadMountStatus(mount_point);
  if (!status) return ReportFailure(status.error());
  std::cout << (command.json ? status->text : DescribeMountStatus(*status));
  return 0;
}

int RunFlush(const std::string& given) {
  const std::string mount_point = AbsolutePath(given);
  const auto before = ReadMountStatus(mount_point);
  if (!before) return ReportFailure(before.error());
  if (!before->write) return 0;  // without a spool nothing can be waiting
  const Status flushed = FlushWithProgress(mount_point, *before);
  if (flushed) return 0;
  const auto after = ReadMountStatus(mount_point);
  const auto write = after ? after->write : before->write;
  PrintFailure(flushed.error(), write);
  if (write) {
    std::cerr << "unshard: "
              << DescribeSpooled(write->dirty_chunks, write->dirty_bytes, write->spool)
              << "; the mount goes on trying\n";
  }
  return 1;
}

int RunUmount(const std::string& given) {
  const std::string mount_point = AbsolutePath(given);
  const auto before = ReadMountStatus(mount_point);
  std::optional<WatchedProcess> process;
  if (before) process.emplace(before->pid);
  bool all_published = true;
  std::optional<WriteStatus> write = before ? before->write : std::nullopt;
  if (write) {
    const Status flushed = FlushWithProgress(mount_point, *before);
    if (const auto after = ReadMountStatus(mount_point)) write = after->write;
    if (!flushed) PrintFailure(flushed.error(), write);
    all_published = flushed.has_value();
  }
  // As it was given: what cannot be resolved, since it is dead, can still be unmounted.
  if (const Status unmounted = Unmount(given); !unmounted) return ReportFailure(unmounted.error());
  if (process && !process->WaitForEnd(kEndMilliseconds)) {
    std::cerr << "unshard: unmounted, but process " << before->pid << " has not ended yet\n";
  }
  if (write && !ReportWhatIsLeft(*write)) all_published = false;
  return all_published ? 0 : 1;
}

}  // namespace unshard
