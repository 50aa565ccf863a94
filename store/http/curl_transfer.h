// One request in the hands of libcurl.
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "store/http/curl_transport.h"
#include "store/http/transport.h"

namespace unshard {

// What the environment says of certificates, read once.
struct CurlEnvironment {
  std::string authorities_file;       // empty: libcurl's own
  std::string authorities_directory;  // empty: libcurl's own
};
CurlEnvironment ReadCurlEnvironment();

// Used by one thread. Does not move, because libcurl points to it.
class CurlTransfer {
 public:
  CurlTransfer(HttpRequest request, HttpTransport::Done done);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  // Makes the handle that libcurl is to run; null where it has no memory for it.
  CURL* Prepare(const CurlOptions& options, const CurlEnvironment& environment);
  // The answer after libcurl has ended the transfer with `code`.
  Result<HttpResponse> Finish(CURLcode code);

  [[nodiscard]] const HttpRequest& request() const { return request_; }
  [[nodiscard]] CURL* handle() const { return handle_.get(); }
  [[nodiscard]] std::chrono::steady_clock::time_point sent() const { return sent_; }
  [[nodiscard]] HttpTransport::Done TakeDone() { return std::move(done_); }

 private:
  struct FreeHandle {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* transfer);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* transfer);
  static std::size_t OnSend(char* to, std::size_t size, std::size_t count, void* transfer);
  static int OnSeek(void* transfer, curl_off_t offset, int origin);
  std::size_t ReadBody(std::span<std::uint8_t> to);
  // What `work` returns; false, with the exception as `refusal_`, where it throws: libcurl, which
  // is C, calls it.
  bool Guarded(const std::function<bool()>& work);
  bool TakeHeader(std::string_view line);
  bool TakeBody(ByteSpan bytes);
  // Of the body that follows the fields that have come.
  [[nodiscard]] std::uint64_t MaxBody() const;
  void Heard(std::size_t bytes) const;
  bool AddField(const std::string& line);
  bool AddFields();
  void SetMethod(CURL* handle);
  void SetOptions(const CurlOptions& options, const CurlEnvironment& environment);

  HttpRequest request_;
  HttpTransport::Done done_;
  std::unique_ptr<CURL, FreeHandle> handle_;
  curl_slist* fields_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::chrono::steady_clock::time_point sent_{};
  HttpResponse response_;
  std::size_t header_bytes_ = 0;
  std::uint64_t body_sent_ = 0;            // of a streamed one
  std::optional<Error> refusal_;           // why this side has ended the transfer
  std::shared_ptr<StoreContact> contact_;  // may be null
};

}  // namespace unshard
