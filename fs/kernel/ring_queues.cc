#include "fs/kernel/ring_queues.h"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "store/object/log.h"

namespace unshard {
namespace {

constexpr unsigned kMostQueues = 256;

// Of each queue at first: enough for the requests that arrive together, but not thousands on a
// machine of many processors.
unsigned FirstThreads(unsigned queues) { return std::clamp(64 / queues, 3U, 16U); }

thread_local RingEntry* current_entry = nullptr;

// How many processors the kernel could have, which is how many queues it wants: the numbers in a
// list of ranges, "0-3,8". 0: not known, or too many.
unsigned PossibleProcessors() {
  std::ifstream file("/sys/devices/system/cpu/possible");
  unsigned count = 0;
  for (std::string range; std::getline(file, range, ',');) {
    unsigned first = 0;
    const char* const end = range.data() + range.size();
    const char* at = std::from_chars(range.data(), end, first).ptr;
    unsigned last = first;
    if (at != end && *at == '-') std::from_chars(at + 1, end, last);
    if (last < first || last - first >= kMostQueues) return 0;
    count += last - first + 1;
  }
  return count <= kMostQueues ? count : 0;
}

// The calling thread, and the threads that it starts: mounts whose requests start any have no ring
// queues. Fails for a processor that is off, or that this process may not use: then it is any.
void RunOn(unsigned processor) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(processor, &processors);
  pthread_setaffinity_np(pthread_self(), sizeof(processors), &processors);
}

}  // namespace

std::unique_ptr<RingQueues> RingQueues::Make(int device, unsigned most_threads, Serve serve) {
  const unsigned count = PossibleProcessors();
  if (count == 0) return nullptr;
  std::unique_ptr<RingQueues> queues(new RingQueues(device, count, most_threads, std::move(serve)));
  const unsigned first = FirstThreads(count) * count;
  for (unsigned i = 0; i < first; ++i) {
    queues->AddThread(static_cast<std::uint16_t>(i % count), Need::kFirst);
  }
  std::unique_lock lock(queues->mutex_);
  queues->changed_.wait(lock, [&] { return queues->made_ + queues->refused_ == first; });
  const bool refused = queues->refused_ > 0;
  lock.unlock();
  if (refused) queues.reset();
  return queues;
}

RingQueues::RingQueues(int device, unsigned queues, unsigned most_threads, Serve serve)
    : device_(device),
      most_threads_(most_threads),
      spare_(static_cast<int>(FirstThreads(queues) / 2) + 1),
      serve_(std::move(serve)),
      ended_(eventfd(0, EFD_CLOEXEC)),
      queues_(queues) {
  for (Queue& queue : queues_) queue.most_waiting = most_threads / 2;
}

RingQueues::~RingQueues() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  eventfd_write(ended_.get(), 1);
  for (std::thread& thread : threads) thread.join();
}

void RingQueues::Start(std::size_t payload_size) {
  {
    const std::lock_guard lock(mutex_);
    payload_size_ = payload_size;
  }
  changed_.notify_all();
}

RingEntry* RingQueues::Current() { return current_entry; }

thread_local RingQueues::Queue* RingQueues::current_queue = nullptr;

RingQueues::Waiting::Waiting()
    : allowed_(++current_queue->waiting <= current_queue->most_waiting) {}

RingQueues::Waiting::~Waiting() { --current_queue->waiting; }

void RingQueues::AddThread(std::uint16_t queue, Need need) {
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  Queue& added = queues_[queue];
  ++added.idle;
  ++added.threads;
  try {
    threads_.emplace_back([this, queue, need] { Run(queue, need); });
  } catch (const std::system_error& error) {
    --added.idle;  // it stays counted as a thread, so that this is not tried for ever
    ++refused_;
    LogWarning(std::string("FUSE over io_uring: starting a thread for requests: ") + error.what());
  }
}

void RingQueues::Run(std::uint16_t queue, Need need) {
  RunOn(queue);
  const auto entry = MakeEntry(queue);
  if (entry && Register(*entry, need)) ServeAll(*entry, queue);
  --queues_[queue].idle;
}

// Step 1. Null, with a line in the log: refused.
std::unique_ptr<RingEntry> RingQueues::MakeEntry(std::uint16_t queue) {
  auto entry = RingEntry::Make(device_, queue, ended_.get());
  {
    const std::lock_guard lock(mutex_);
    ++(entry ? made_ : refused_);
  }
  changed_.notify_all();
  if (entry) return *std::move(entry);
  LogDebug("FUSE over io_uring: " + entry.error().message);
  return nullptr;
}

// Step 2. False: the kernel does not take the entry, or the end comes first.
bool RingQueues::Register(RingEntry& entry, Need need) {
  std::size_t payload_size = 0;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ending_ || payload_size_ != 0; });
    if (ending_) return false;
    payload_size = payload_size_;
  }
  const Status registered = entry.Register(payload_size);
  if (registered) return true;
  const int why = registered.error().system_errno;
  if (why == ENOTCONN || why == ECONNABORTED) return false;
  if (why == EOPNOTSUPP) {
    LogDebug("FUSE over io_uring was switched off while this mount began: it reads /dev/fuse");
    return false;
  }
  LogError("FUSE over io_uring: " + registered.error().message);
  if (need == Need::kFirst) kill(getpid(), SIGTERM);
  return false;
}

// Step 3.
void RingQueues::ServeAll(RingEntry& entry, std::uint16_t number) {
  Queue& queue = queues_[number];
  current_entry = &entry;
  current_queue = &queue;
  for (;;) {
    const std::span<std::byte> request = entry.Wait();
    if (request.empty()) break;
    if (--queue.idle < spare_ && queue.threads < most_threads_) AddThread(number, Need::kSpare);
    serve_(request);
    ++queue.idle;
  }
  current_entry = nullptr;
}

}  // namespace unshard
