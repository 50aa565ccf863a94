// Makes starting a thread fail, as it fails at the limit of threads of a user.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace unshard {

// While an object of this class lives, no thread of the process can start another. There may be
// only one such object at a time.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t impossible;
    EXPECT_EQ(pthread_attr_init(&impossible), 0);
    // A stack as large as the whole address space of a process.
    EXPECT_EQ(pthread_attr_setstacksize(&impossible, std::size_t{1} << 47), 0);
    EXPECT_EQ(pthread_setattr_default_np(&impossible), 0);
    pthread_attr_destroy(&impossible);
  }
  ~NoMoreThreads() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace unshard
