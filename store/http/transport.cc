#include "store/http/transport.h"

#include <utility>

#include "store/object/awaited_result.h"

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
  const auto outcome = std::make_shared<AwaitedResult<HttpResponse>>();
  // The transport ends the request at its deadline, and its error says more than ours.
  transport.Start(std::move(request), AwaitedResult<HttpResponse>::Callback(outcome));
  return outcome->Wait();
}

}  // namespace unshard
