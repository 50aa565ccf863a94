#include "store/object/thread_without_signals.h"

#include <signal.h>

#include <utility>

namespace unshard {
namespace {

// Blocks all signals on this thread while it lives.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread StartWithoutSignals(std::function<void()> run) {
  const BlockedSignals blocked;  // the new thread inherits the mask
  return std::thread(std::move(run));
}

}  // namespace unshard
