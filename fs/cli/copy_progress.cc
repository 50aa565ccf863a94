#include "fs/cli/copy_progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "fs/common/readable.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

constexpr std::chrono::milliseconds kOnTerminal{250};
constexpr std::chrono::seconds kElsewhere{15};
// Before that the time left is a guess.
constexpr std::chrono::seconds kFirstEstimate{2};

}  // namespace

std::string ProgressText(const CopyCounters& counters, std::chrono::duration<double> since) {
  const std::uint64_t all = std::max<std::uint64_t>(counters.all_cells, 1);
  const std::uint64_t bytes = counters.bytes;
  const double percent = 100.0 * static_cast<double>(counters.cells) / static_cast<double>(all);
  const double rate = since.count() > 0 ? static_cast<double>(bytes) / since.count() : 0;
  std::string text = std::to_string(static_cast<int>(percent)) + " %, " + ReadableBytes(bytes) +
                     " in " + Counted(counters.chunks, "chunk") + ", " +
                     ReadableBytes(static_cast<std::uint64_t>(rate)) + "/s";
  if (const std::uint64_t kept = counters.kept_chunks; kept > 0) {
    text += ", " + Counted(kept, "chunk") + " there already";
  }
  const std::uint64_t cells = counters.cells;
  if (cells > 0 && cells < all && since >= kFirstEstimate) {
    const double left =
        since.count() * static_cast<double>(all - cells) / static_cast<double>(cells);
    text += ", " + ReadableAge(static_cast<std::uint64_t>(left * 1000)) + " left";
  }
  return text;
}

CopyProgress::CopyProgress(const CopyCounters& counters)
    : counters_(counters), terminal_(::isatty(STDERR_FILENO) == 1) {
  thread_ = StartWithoutSignals([this] { Run(); });
}

CopyProgress::~CopyProgress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void CopyProgress::Run() {
  std::unique_lock lock(mutex_);
  const auto pause = terminal_ ? std::chrono::milliseconds(kOnTerminal) : kElsewhere;
  while (!changed_.wait_for(lock, pause, [this] { return over_; })) Show();
}

void CopyProgress::Show() {
  const std::string text = ProgressText(counters_, std::chrono::steady_clock::now() - begin_);
  if (terminal_) {
    std::cerr << "\r\x1b[K" << text << std::flush;
    shown_ = true;
  } else {
    std::cerr << "unshard: " << text << std::endl;
  }
}

}  // namespace unshard
