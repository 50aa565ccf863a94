#include "fs/kernel/end_at_signals.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "fs/kernel/operations.h"

namespace unshard {
namespace {

sigset_t EndingSignals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, signal);
  return ending;
}

// Interrupts the system call in which the looping thread waits, so that it checks whether the
// session has ended. SIGURG has no other use here, and by default ends no process.
constexpr int kInterruption = SIGURG;

void InstallInterruption() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(kInterruption, &action, nullptr);
}

}  // namespace

EndingSignalsBlocked::EndingSignalsBlocked() {
  const sigset_t ending = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &ending, &before_);
}

EndingSignalsBlocked::~EndingSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

EndAtSignals::EndAtSignals(fuse_session* session, std::function<void()> stop_notifying)
    : session_(session), stop_notifying_(std::move(stop_notifying)), looping_(pthread_self()) {
  InstallInterruption();
  thread_ = std::thread([this] { Wait(); });
}

EndAtSignals::~EndAtSignals() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  const sigset_t ending = EndingSignals();
  const timespec at_once{};
  while (sigtimedwait(&ending, nullptr, &at_once) > 0) {
  }
}

void EndAtSignals::Wait() {
  const sigset_t ending = EndingSignals();
  int signal = 0;
  sigwait(&ending, &signal);
  if (over_) return;
  stop_notifying_();            // 1
  fuse_session_exit(session_);  // 2
  // The loop may check just before it waits again, and would miss a single signal.
  while (!over_) {
    pthread_kill(looping_, kInterruption);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace unshard
