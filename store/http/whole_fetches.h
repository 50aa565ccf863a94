// Requests for whole objects, of servers that do not send a range of one: each once for all who
// wait for it, and so many at a time that their bytes are bounded, in the order in which they come.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/http/http_answer.h"

namespace unshard {

// Thread-safe.
class WholeFetches : public std::enable_shared_from_this<WholeFetches> {
 public:
  using Done = std::function<void(Result<HttpAnswer>)>;
  // Sends the request of one fetch, and calls its argument once with the answer, or drops it.
  using Start = std::function<void(Done)>;

  // `most_bytes`: of all fetches at a time; one that has more is sent alone.
  explicit WholeFetches(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Calls `done` with the answer to a request that is sent after this call: the one that waits for
  // `key` already, else `start`'s, which takes about `bytes` of memory. Never blocks.
  void Fetch(const std::string& key, std::uint64_t bytes, Start start, Done done);

 private:
  struct Waiting {
    std::string key;
    std::uint64_t bytes = 0;
    Start start;
    std::vector<Done> dones;
  };
  class Running;
  void StartNext();
  std::shared_ptr<Waiting> TakeNext();
  void End(const Waiting& fetch, const Result<HttpAnswer>& answer);

  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::deque<std::shared_ptr<Waiting>> waiting_;
  std::uint64_t running_bytes_ = 0;
};

}  // namespace unshard
