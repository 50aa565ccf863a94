#include "store/http/transport.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace unshard {

std::string_view MethodName(HttpRequest::Method method) {
  switch (method) {
    case HttpRequest::Method::kGet:
      return "GET";
    case HttpRequest::Method::kHead:
      return "HEAD";
    case HttpRequest::Method::kPut:
      return "PUT";
    case HttpRequest::Method::kPost:
      return "POST";
    case HttpRequest::Method::kDelete:
      return "DELETE";
  }
  return "GET";
}

Result<HttpResponse> Send(HttpTransport& transport, HttpRequest request) {
  // Shared with the callback, which the transport may still run after the wait has failed.
  struct Outcome {
    std::mutex mutex;
    std::condition_variable_any done;
    std::optional<Result<HttpResponse>> result;  // guarded by mutex
  };
  const auto outcome = std::make_shared<Outcome>();
  // The transport ends the request at its deadline, and its error says more than ours.
  transport.Start(std::move(request), [outcome](Result<HttpResponse> result) {
    const std::lock_guard lock(outcome->mutex);
    outcome->result = std::move(result);
    outcome->done.notify_one();
  });
  std::unique_lock lock(outcome->mutex);
  outcome->done.wait(lock, [&] { return outcome->result.has_value(); });
  return *std::move(outcome->result);
}

}  // namespace unshard
