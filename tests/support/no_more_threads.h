// A process that can start no thread, as where the limit of its user is reached.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace unshard {

// As long as it is there, starting a thread fails, everywhere in the process. One at a time.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t impossible;
    EXPECT_EQ(pthread_attr_init(&impossible), 0);
    // A stack as large as all addresses of a process.
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
