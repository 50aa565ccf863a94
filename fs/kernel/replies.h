// What libfuse's callbacks have in common: answers, and the frame around each of them.
#pragma once

#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "fs/kernel/interrupts.h"
#include "fs/kernel/operations.h"
#include "store/object/deadline.h"

namespace unshard {

FuseContext& ContextOf(fuse_req_t request);
struct stat StatOf(const FuseContext& context, const Attributes& attributes);
double AttributeSeconds(const Entry& entry);  // for which the kernel may keep them
fuse_entry_param EntryOf(const FuseContext& context, const Entry& entry);
// The calling thread.
pid_t ThreadOf(fuse_req_t request);

// Reports the failure and answers with its errno. StaleName() (fs/common/request_failures.h) and
// ENOTEMPTY are not reported.
void ReplyError(fuse_req_t request, std::string_view operation, NodeId node, std::string_view name,
                const Error& error);

// Whether a signal for the caller ends what the operation waits for. Look-ups and reads wait for
// disks only, and programs that handle signals do not expect EINTR from them.
inline bool EndsAtInterrupt(Operation operation) {
  return operation >= Operation::kCreate || operation == Operation::kFlush;
}

// Runs one callback: counts it, ends its waits at FUSE_INTERRUPT where the operation allows that,
// and lets no exception into libfuse's C frames.
template <class Body>
void Guarded(fuse_req_t request, Operation operation, NodeId node, const Body& body) {
  VolumeFs& fs = *ContextOf(request).fs;
  if (!fs.IsControl(node)) fs.counters().Count(operation);
  const std::string_view name = kOperationNames[static_cast<std::size_t>(operation)];
  try {
    std::optional<InterruptStop> stop;
    ServedCaller::Interrupt interrupt;
    if (EndsAtInterrupt(operation)) {
      interrupt = [&] {
        if (!stop) stop.emplace(request);
        return stop->token();
      };
    }
    const ServedCaller caller(std::chrono::steady_clock::time_point::max(), std::move(interrupt));
    body(fs);
  } catch (const std::bad_alloc&) {
    ReplyError(request, name, node, "",
               Error{ErrorCode::kResourceExhausted, "out of memory", ENOMEM});
  } catch (const std::exception& exception) {
    ReplyError(request, name, node, "", Error{ErrorCode::kInternal, exception.what(), 0});
  }
}

}  // namespace unshard
