#include "fs/kernel/interrupts.h"

#include <sys/types.h>

#include <csignal>
#include <fstream>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/kernel/operations.h"

namespace unshard {
namespace {

// libfuse may call back after the reply, when the InterruptStop is gone already: the callback looks
// the request up. libfuse does not use its memory again before the callback returns.
struct Served {
  std::stop_source stop;
  InterruptStop::At at;
};
struct Requests {
  std::mutex mutex;
  std::unordered_map<fuse_req_t, Served> stops;  // guarded by mutex
  bool ended = false;                            // the same: the mount ends
};

Requests& ServedRequests() {
  static Requests requests;
  return requests;
}

// To end a process by any signal the kernel leaves SIGKILL pending for each of its threads. False
// for threads of another process namespace, which have no number here.
bool IsBeingKilled(pid_t thread) {
  if (thread <= 0) return false;
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    const auto pending = std::stoull(line.substr(line.find(':') + 1), nullptr, 16);
    if ((pending >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

void OnInterrupt(fuse_req_t request, void*) {
  const pid_t thread = fuse_req_ctx(request)->pid;
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(ServedRequests().mutex);
    const auto found = ServedRequests().stops.find(request);
    if (found == ServedRequests().stops.end()) return;
    if (found->second.at != InterruptStop::At::kAnySignal && !IsBeingKilled(thread)) return;
    stop = found->second.stop;
  }
  stop.request_stop();
}

}  // namespace

InterruptStop::InterruptStop(fuse_req* request, At at) : request_(request) {
  {
    const std::lock_guard lock(ServedRequests().mutex);
    ServedRequests().stops.insert_or_assign(request, Served{stop_, at});
    if (ServedRequests().ended && at == At::kKilledOrEnd) stop_.request_stop();
  }
  fuse_req_interrupt_func(request, OnInterrupt, nullptr);
}

void InterruptStop::EndMount() {
  std::vector<std::stop_source> ending;
  {
    const std::lock_guard lock(ServedRequests().mutex);
    ServedRequests().ended = true;
    for (const auto& [request, served] : ServedRequests().stops) {
      if (served.at == At::kKilledOrEnd) ending.push_back(served.stop);
    }
  }
  for (std::stop_source& stop : ending) stop.request_stop();
}

InterruptStop::~InterruptStop() {
  const std::lock_guard lock(ServedRequests().mutex);
  const auto found = ServedRequests().stops.find(request_);
  // After the reply another request may have the same address.
  if (found != ServedRequests().stops.end() && found->second.stop == stop_)
    ServedRequests().stops.erase(found);
}

}  // namespace unshard
