// Sending a request again where the answer says that this may help, and following redirects.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "store/http/transport.h"

namespace unshard {

struct RetryOptions {
  int attempts = 8;                           // in all
  int attempts_of_unknown_hosts = 3;          // where the name of the host is not known
  std::chrono::milliseconds least_delay{25};  // before the second one
  std::chrono::milliseconds most_delay{5000};
  // The deadline of requests that have none.
  std::chrono::milliseconds timeout{30000};
};

// In [0, 1), of a generator that each thread has of its own.
double RandomFraction();

// The delays before the attempts after the first of one request: each is drawn between half of a
// delay that doubles and the whole ("equal jitter"), so that clients that failed together do not
// come back together, and all take some seconds. Pure, except for its random numbers.
class RetryDelays {
 public:
  // `random` returns a number in [0, 1).
  using Random = std::function<double()>;
  RetryDelays(const RetryOptions& options, Random random);

  // How long to wait before the next attempt; nothing where there is to be none. `retry_after` is
  // what the server asks for: the least delay then.
  std::optional<std::chrono::milliseconds> Next(
      bool unknown_host, std::optional<std::chrono::milliseconds> retry_after);

 private:
  const RetryOptions options_;
  const Random random_;
  int attempts_ = 1;
  std::chrono::milliseconds whole_;
};

// Whether the same request may succeed later: 408, 425, 429, 500, 502, 503, 504.
bool IsRetriedStatus(int status);

// `transport`, with retries within each request's deadline; those that are sent once are passed on.
// Answers that are still bad at the end are passed on as they came. Follows redirects
// (store/http/redirects.h), but those to a directory.
std::shared_ptr<HttpTransport> WithRetries(std::shared_ptr<HttpTransport> transport,
                                           const RetryOptions& options);

}  // namespace unshard
