// Requests for whole objects, of servers that do not send a range of one: each once for all who
// wait for it, and so many at a time that their bytes are bounded, in the order in which they come.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/http/http_answer.h"
#include "store/http/transport.h"

namespace unshard {

// The outcome of one fetch, shared by those who wait for it. Its bytes count as under way until it
// has been read, or is destroyed. Thread-safe.
class WholeFetch {
 public:
  using Read = std::function<Result<HttpAnswer>(HttpResponse)>;

  // `on_read` is called once.
  WholeFetch(Result<HttpResponse> response, Read read, std::function<void()> on_read)
      : response_(std::move(response)), read_(std::move(read)), on_read_(std::move(on_read)) {}
  ~WholeFetch();
  WholeFetch(const WholeFetch&) = delete;
  WholeFetch& operator=(const WholeFetch&) = delete;

  // Decodes what the server has sent, at the first call.
  Result<HttpAnswer> Answer();

 private:
  std::mutex mutex_;
  // All guarded by mutex_.
  Result<HttpResponse> response_;
  const Read read_;
  std::function<void()> on_read_;  // null once it was called
  std::optional<Result<HttpAnswer>> answer_;
};

// Thread-safe.
class WholeFetches : public std::enable_shared_from_this<WholeFetches> {
 public:
  using Done = std::function<void(const std::shared_ptr<WholeFetch>&)>;
  // Sends the request of one fetch, and calls its argument once with the response, or drops it.
  using Start = std::function<void(HttpTransport::Done)>;

  // `most_bytes`: of all fetches at a time; a fetch that has more is sent alone.
  explicit WholeFetches(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Calls `done` with the outcome of a request that is sent after this call: a request that waits
  // for `key` already, else `start`'s, which takes about `bytes` of memory, and whose response
  // `read` reads. Never blocks.
  void Fetch(const std::string& key, std::uint64_t bytes, Start start, WholeFetch::Read read,
             Done done);

 private:
  struct Waiting {
    std::string key;
    std::uint64_t bytes = 0;
    Start start;
    WholeFetch::Read read;
    std::vector<Done> dones;
  };
  class Running;
  void StartNext();
  std::shared_ptr<Waiting> TakeNext();
  void Release(std::uint64_t bytes);

  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::deque<std::shared_ptr<Waiting>> waiting_;
  std::uint64_t running_bytes_ = 0;
};

}  // namespace unshard
