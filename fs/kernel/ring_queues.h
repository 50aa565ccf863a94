// FUSE over io_uring, of Linux 6.14 on: threads that take requests from the connection's ring
// queues, one for each processor, instead of reading /dev/fuse. A thread runs on the processor of
// the program that waits for it, so that neither has to be woken on another one.
//
// 1. The kernel offers it in FUSE_INIT where its administrator has switched it on
//    (/sys/module/fuse/parameters/enable_uring). Before the reply accepts the offer each queue has
//    threads with an io_uring: from the reply on the kernel holds requests back until each queue
//    has an entry, and then sends nothing to /dev/fuse but FORGET and INTERRUPT.
// 2. After the reply each thread registers its entry. EOPNOTSUPP: the administrator has switched it
//    off between offer and reply. Then the kernel ignored that the reply accepts it, and sends all
//    requests to /dev/fuse. After any other refusal requests would wait for ever: the mount is
//    ended.
// 3. The kernel gives a request to an idle entry of the caller's queue. If no entry is idle, the
//    request waits until an entry has replied; an entry registered meanwhile does not get it. So
//    entries are registered ahead: a thread that takes a request, and leaves fewer than spare_ idle
//    entries, starts another thread, up to a limit.
// 4. The end of the connection ends all threads, and so does the eventfd.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "fs/kernel/ring_entry.h"
#include "store/local/file_descriptor.h"

namespace unshard {

class RingQueues {
 public:
  // Serves one request, as a read of /dev/fuse returns it, in the calling thread.
  using Serve = std::function<void(std::span<std::byte> request)>;

  // Step 1. Null, with the reason in the log, where this process gets no io_uring.
  // `most_threads`: of each queue. The threads have the signals blocked that the caller has
  // blocked.
  static std::unique_ptr<RingQueues> Make(int device, unsigned most_threads, Serve serve);
  // Step 4. Waits for the threads, and so for the requests that they serve.
  ~RingQueues();
  RingQueues(const RingQueues&) = delete;
  RingQueues& operator=(const RingQueues&) = delete;

  // Step 2. `payload_size`: see RingEntry::Register().
  void Start(std::size_t payload_size);

  // The entry whose request the calling thread serves; null: none.
  static RingEntry* Current();

  // Made by a thread that serves a request and is about to wait for long: allowed() is false if it
  // must not, since half of the threads that its queue may have already do.
  class Waiting {
   public:
    Waiting();
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    [[nodiscard]] bool allowed() const { return allowed_; }

   private:
    bool allowed_;
  };

 private:
  struct Queue {
    std::atomic<int> idle{0};  // threads that wait for a request, or soon will
    std::atomic<unsigned> threads{0};
    std::atomic<unsigned> waiting{0};  // of them: Waiting
    unsigned most_waiting = 0;
  };
  static thread_local Queue* current_queue;

  RingQueues(int device, unsigned queues, unsigned most_threads, Serve serve);
  enum class Need : std::uint8_t { kFirst, kSpare };  // of a thread: for step 1, or 3
  void AddThread(std::uint16_t queue, Need need);
  void Run(std::uint16_t queue, Need need);
  std::unique_ptr<RingEntry> MakeEntry(std::uint16_t queue);
  bool Register(RingEntry& entry, Need need);
  void ServeAll(RingEntry& entry, std::uint16_t queue);

  const int device_;
  const unsigned most_threads_;  // of each queue
  const int spare_;              // idle threads of each queue
  const Serve serve_;
  const FileDescriptor ended_;  // an eventfd
  std::vector<Queue> queues_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned made_ = 0;                 // guarded by mutex_: threads that have an io_uring
  unsigned refused_ = 0;              // guarded by mutex_: threads that got none
  std::size_t payload_size_ = 0;      // guarded by mutex_; 0: not started
  bool ending_ = false;               // guarded by mutex_
  std::vector<std::thread> threads_;  // guarded by mutex_
};

}  // namespace unshard
