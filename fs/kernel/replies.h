// What libfuse's callbacks have in common: answers, and what each does before and after its body.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "fs/kernel/interrupts.h"
#include "fs/kernel/operations.h"
#include "fs/kernel/ring_queues.h"
#include "fs/tree/control_files.h"
#include "store/object/deadline.h"

namespace unshard {

FuseContext& ContextOf(fuse_req_t request);
struct stat StatOf(const FuseContext& context, const Attributes& attributes);
double AttributeSeconds(const Entry& entry);  // for which the kernel may keep them
fuse_entry_param EntryOf(const FuseContext& context, const Entry& entry);
// The calling thread.
pid_t ThreadOf(fuse_req_t request);

// Reports the failure and answers with its errno. StaleName() (fs/common/request_failures.h) and
// ENOTEMPTY are not reported. `name`: in the directory `node`; "": the node itself.
void ReplyError(fuse_req_t request, std::string_view operation, NodeId node, std::string_view name,
                const Error& error);
void ReplyError(fuse_req_t request, std::string_view operation, const OpenFile& file,
                const Error& error);

// Reports the exception that is being handled, as far as memory allows that, and answers with its
// errno. `name`: as of ReplyError.
void ReplyException(fuse_req_t request, std::string_view operation, NodeId node,
                    std::string_view name) noexcept;

// Whether a signal for the caller ends what the operation waits for. Programs that handle signals
// do not expect EINTR from look-ups and reads: these end early only where they wait for a remote
// store and the caller is being killed.
inline bool EndsAtInterrupt(Operation operation) {
  return operation >= Operation::kCreate || operation == Operation::kFlush;
}

inline bool IsListing(Operation operation) {
  return operation == Operation::kReaddir || operation == Operation::kReaddirplus;
}

// Until when a request of a remote source may wait: a read ends with bytes or an error.
inline std::chrono::steady_clock::time_point LatestAnswer(const FuseContext& context,
                                                          Operation operation) {
  using Clock = std::chrono::steady_clock;
  if (!context.is_remote || IsListing(operation)) return Clock::time_point::max();
  return Clock::now() + std::chrono::seconds(30);
}

// Runs one callback: counts it unless it is about the control files, ends its waits at
// FUSE_INTERRUPT where the operation allows that, a listing also where its caller is killed or the
// mount ends, and lets no exception into libfuse's C frames.
// `name`: in the directory `node`.
template <class Body>
void Guarded(fuse_req_t request, Operation operation, NodeId node, std::string_view name,
             const Body& body) {
  const FuseContext& context = ContextOf(request);
  VolumeFs& fs = *context.fs;
  const bool control = fs.IsControl(node) || (node == kRootNode && name == kControlDirectory);
  if (!control) fs.counters().Count(operation, RingQueues::Current() != nullptr);
  try {
    std::optional<InterruptStop> stop;
    ServedCaller::Interrupt interrupt;
    if (EndsAtInterrupt(operation)) {
      interrupt = [&] {
        if (!stop) stop.emplace(request);
        return stop->token();
      };
    }
    ServedCaller::Interrupt killed;
    if (context.is_remote || IsListing(operation)) {
      using At = InterruptStop::At;
      killed = [&stop, request, at = IsListing(operation) ? At::kKilledOrEnd : At::kKilled] {
        if (!stop) stop.emplace(request, at);
        return stop->token();
      };
    }
    const ServedCaller caller(LatestAnswer(context, operation), std::move(interrupt),
                              std::move(killed));
    body(fs);
  } catch (...) {
    ReplyException(request, kOperationNames[static_cast<std::size_t>(operation)], node, name);
  }
}
// Of an operation on the node itself.
template <class Body>
void Guarded(fuse_req_t request, Operation operation, NodeId node, const Body& body) {
  Guarded(request, operation, node, "", body);
}

}  // namespace unshard
