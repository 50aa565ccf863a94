#include "store/http/concurrency_limit.h"

#include <algorithm>

namespace unshard {

void ConcurrencyLimit::Answered(bool throttled, Time sent, Time now) {
  if (!throttled) {
    limit_ = std::min(limit_ + 1 / limit_, static_cast<double>(most_));
  } else if (sent > lowered_) {
    limit_ = std::max(limit_ / 2, 1.0);
    lowered_ = now;
  }
}

}  // namespace unshard
