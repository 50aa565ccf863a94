// Requests for the objects below one URL, and what is known of the server.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/http/http_answer.h"
#include "store/http/http_store.h"
#include "store/http/transport.h"
#include "store/http/url.h"
#include "store/http/whole_fetches.h"
#include "store/http/whole_objects.h"
#include "store/object/deadline.h"
#include "store/object/worker.h"

namespace unshard {

// Thread-safe. Shared by a store and its versions.
class HttpServer : public std::enable_shared_from_this<HttpServer> {
 public:
  // `base` is where the keys begin; its user information becomes an Authorization field.
  HttpServer(HttpUrl base, const HttpStoreOptions& options,
             std::shared_ptr<HttpTransport> transport);

  // A request for `range` of an object; nothing: for all of it.
  [[nodiscard]] HttpRequest MakeRequest(std::string_view key,
                                        const std::optional<AskedRange>& range,
                                        const Deadline& deadline) const;
  // Starts the request and reads its answer. `done` as HttpTransport::Start calls it, or on a
  // thread of this object: whole objects may have to be decoded, which keeps the network waiting.
  using Done = std::function<void(Result<HttpAnswer>)>;
  void Start(HttpRequest request, const std::optional<AskedRange>& range, Done done);
  // The same, and a wait for the answer, which is read by the calling thread.
  Result<HttpAnswer> Ask(HttpRequest request, const std::optional<AskedRange>& range) const;

  // Starts a request for a whole object, without a condition, once there is room for its bytes
  // (WholeFetches): about `bytes`, 0 where that is not known. Once it is sent it ends after the
  // options' timeout at the latest.
  void StartWhole(const std::string& key, std::uint64_t bytes, Done done);
  // The same, and a wait for the answer, which is read by the calling thread.
  Result<HttpAnswer> AskWhole(const std::string& key, std::uint64_t bytes,
                              const Deadline& deadline);

  // "https://host/path/key": neither user information nor query; or as the options say.
  [[nodiscard]] std::string Describe(std::string_view key) const;
  // Where the keys begin, with the query; without user information. For no message.
  [[nodiscard]] std::string Identity() const { return base_.Request(); }
  [[nodiscard]] const HttpStoreOptions& options() const { return options_; }
  WholeObjects& whole_objects() { return whole_objects_; }

  // Whether suffix ranges ("bytes=-10") have been answered wrongly.
  [[nodiscard]] bool suffixes_are_broken() const { return suffixes_are_broken_; }
  void NoteBrokenSuffixes() { suffixes_are_broken_ = true; }

 private:
  void FetchWhole(const std::string& key, std::uint64_t bytes, WholeFetches::Done done);
  [[nodiscard]] Result<HttpAnswer> Read(HttpResponse response, const AskedRange& asked) const;
  // Whether an answer stands for an object that is missing, and does not say so by its status.
  [[nodiscard]] bool StandsForMissing(const HttpResponse& response) const;

  const HttpUrl base_;
  const HttpStoreOptions options_;
  const std::shared_ptr<HttpTransport> transport_;
  std::string authorization_;  // empty: none; constant
  WholeObjects whole_objects_;
  const std::shared_ptr<WholeFetches> whole_fetches_;
  std::atomic<bool> suffixes_are_broken_{false};
  mutable std::atomic<bool> has_read_{false};  // an object
  Worker reading_;                             // answers that have whole objects
};

}  // namespace unshard
