#include "store/object/thread_without_signals.h"

#include <signal.h>

#include <utility>

namespace unshard {

std::thread StartWithoutSignals(std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace unshard
