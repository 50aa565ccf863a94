// Threads that no signal is delivered to, and what is left if such a thread cannot be started.
#include "store/object/thread_without_signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <system_error>

#include "tests/support/no_more_threads.h"

namespace unshard {
namespace {

bool BlocksSignals() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, SIGTERM) == 1;
}

TEST(ThreadWithoutSignalsTest, TheThreadBlocksThemAndItsStarterDoesNot) {
  bool blocked = false;
  StartWithoutSignals([&] { blocked = BlocksSignals(); }).join();
  EXPECT_TRUE(blocked);
  EXPECT_FALSE(BlocksSignals());
}

TEST(ThreadWithoutSignalsTest, TheStarterGoesOnGettingThemWhereThereIsNoThread) {
  const NoMoreThreads none;
  EXPECT_THROW(StartWithoutSignals([] {}), std::system_error);
  EXPECT_FALSE(BlocksSignals());
}

}  // namespace
}  // namespace unshard
