// A second request in place of one whose answer is late: most late answers are late by chance.
//
//   1. A request is sent. Beside it the same request waits in the transport until the answer is
//      later than 95 of 100 answers are.
//   2. The first answer that can be used ends both. An error ends a request alone: the other one
//      may still be answered, if it has been sent.
//   3. At most one second request in `requests_per_hedge` is sent, so that a server that has become
//      slow is not asked twice for everything.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "store/http/transport.h"

namespace unshard {

struct HedgingOptions {
  // Only requests for ranges up to this size: the time of large bodies is that of their bytes.
  std::uint64_t most_bytes = std::uint64_t{256} << 10;
  // When an answer is late, until enough have come to tell.
  std::chrono::milliseconds first_delay{3000};
  // An answer is never late before.
  std::chrono::milliseconds least_delay{10};
  double requests_per_hedge = 20;
};

// `transport`, with hedging of the GETs of small ranges. Thread-safe.
std::shared_ptr<HttpTransport> WithHedging(std::shared_ptr<HttpTransport> transport,
                                           const HedgingOptions& options);

}  // namespace unshard
