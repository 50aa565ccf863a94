#include "store/http/curl_transfer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "codec/core/escaped_text.h"
#include "store/http/retry.h"
#include "store/object/catch_exceptions.h"

namespace unshard {
namespace {

// Fields of one answer, those of provisional answers before it included.
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10;
// A body grows as it comes; a server that announces a size has not sent it yet.
constexpr std::uint64_t kMaxReservedBytes = std::uint64_t{16} << 20;

std::string FirstSet(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

template <class Value>
void SetOption(CURL* handle, CURLoption option, Value value) {
  curl_easy_setopt(handle, option, value);
}

bool IsCertificateFailure(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS;
}

}  // namespace

CurlEnvironment ReadCurlEnvironment() {
  return {FirstSet({"CURL_CA_BUNDLE", "SSL_CERT_FILE", "AWS_CA_BUNDLE"}),
          FirstSet({"SSL_CERT_DIR"})};
}

CurlTransfer::CurlTransfer(HttpRequest request, HttpTransport::Done done)
    : request_(std::move(request)), done_(std::move(done)) {}

CurlTransfer::~CurlTransfer() {
  handle_.reset();
  curl_slist_free_all(fields_);
}

bool CurlTransfer::AddField(const std::string& line) {
  curl_slist* const longer = curl_slist_append(fields_, line.c_str());
  if (longer == nullptr) return false;
  fields_ = longer;
  return true;
}

bool CurlTransfer::AddFields() {
  for (const HttpHeader& header : request_.headers) {
    if (!AddField(header.name + ": " + header.value)) return false;
  }
  const bool has_body =
      request_.method == HttpRequest::Method::kPut || request_.method == HttpRequest::Method::kPost;
  // Without a value: libcurl adds none of its own. Not every service knows "100 Continue", and the
  // others are waited for.
  return !has_body || AddField("Expect:");
}

CURL* CurlTransfer::Prepare(const CurlOptions& options, const CurlEnvironment& environment) {
  handle_.reset(curl_easy_init());
  if (!handle_ || !AddFields()) return nullptr;
  contact_ = options.contact;
  SetOptions(options, environment);
  sent_ = std::chrono::steady_clock::now();
  return handle_.get();
}

void CurlTransfer::SetOptions(const CurlOptions& options, const CurlEnvironment& environment) {
  CURL* const handle = handle_.get();
  SetOption(handle, CURLOPT_URL, request_.url.c_str());
  SetMethod(handle);
  SetOption(handle, CURLOPT_HTTPHEADER, fields_);
  SetOption(handle, CURLOPT_ERRORBUFFER, error_text_.data());
  SetOption(handle, CURLOPT_HEADERFUNCTION, &CurlTransfer::OnHeader);
  SetOption(handle, CURLOPT_HEADERDATA, this);
  SetOption(handle, CURLOPT_WRITEFUNCTION, &CurlTransfer::OnBody);
  SetOption(handle, CURLOPT_WRITEDATA, this);
  SetOption(handle, CURLOPT_NOSIGNAL, 1L);
  SetOption(handle, CURLOPT_FOLLOWLOCATION, 0L);
  SetOption(handle, CURLOPT_PROTOCOLS_STR, request_.url.starts_with("https:") ? "https" : "http");
  SetOption(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  SetOption(handle, CURLOPT_PATH_AS_IS, 1L);
  SetOption(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  SetOption(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  SetOption(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!environment.authorities_file.empty()) {
    SetOption(handle, CURLOPT_CAINFO, environment.authorities_file.c_str());
  }
  if (!environment.authorities_directory.empty()) {
    SetOption(handle, CURLOPT_CAPATH, environment.authorities_directory.c_str());
  }
  if (!options.through_proxies) SetOption(handle, CURLOPT_NOPROXY, "*");
  SetOption(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  SetOption(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  const auto stall_timeout = request_.once ? options.once_stall_timeout : options.stall_timeout;
  SetOption(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall_timeout.count()));
  SetOption(handle, CURLOPT_FRESH_CONNECT, request_.once ? 1L : 0L);
  SetOption(handle, CURLOPT_MAXAGE_CONN, 30L);
  SetOption(handle, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
  SetOption(handle, CURLOPT_BUFFERSIZE, 512L << 10);
  SetOption(handle, CURLOPT_TCP_NODELAY, 1L);
}

void CurlTransfer::SetMethod(CURL* handle) {
  using Method = HttpRequest::Method;
  const Method method = request_.method;
  if (method == Method::kGet) return;
  if (method == Method::kHead) {
    SetOption(handle, CURLOPT_NOBODY, 1L);
    return;
  }
  if (method != Method::kDelete && request_.streamed) {
    SetOption(handle, CURLOPT_UPLOAD, 1L);
    SetOption(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.streamed->size()));
    SetOption(handle, CURLOPT_READFUNCTION, &CurlTransfer::OnSend);
    SetOption(handle, CURLOPT_READDATA, this);
    SetOption(handle, CURLOPT_SEEKFUNCTION, &CurlTransfer::OnSeek);
    SetOption(handle, CURLOPT_SEEKDATA, this);
    SetOption(handle, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
  } else if (method != Method::kDelete) {
    SetOption(handle, CURLOPT_POSTFIELDS, request_.body.c_str());
    SetOption(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  }
  SetOption(handle, CURLOPT_CUSTOMREQUEST, std::string(MethodName(method)).c_str());
}

std::size_t CurlTransfer::OnSend(char* to, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<CurlTransfer*>(transfer);
  std::size_t read = CURL_READFUNC_ABORT;
  self.Guarded([&] {
    read = self.ReadBody({reinterpret_cast<std::uint8_t*>(to), size * count});
    return true;
  });
  return read;
}

bool CurlTransfer::Guarded(const std::function<bool()>& work) {
  bool done = false;
  const Status outcome = CatchExceptions([&]() -> Status { return done = work(), Status(); });
  if (!outcome) refusal_ = outcome.error();
  return done;
}

int CurlTransfer::OnSeek(void* transfer, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<CurlTransfer*>(transfer)->body_sent_ = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// Services and proxies before them refuse requests for the moment in the name of a store that does
// not answer.
void CurlTransfer::Heard(std::size_t bytes) const {
  if (!contact_) return;
  contact_->CountBytes(bytes);
  if (response_.status >= 200 && !IsRetriedStatus(response_.status)) contact_->Answered();
}

std::size_t CurlTransfer::ReadBody(std::span<std::uint8_t> to) {
  auto found = request_.streamed->Read(body_sent_, to);
  if (!found) {
    refusal_ = std::move(found).error();
    return CURL_READFUNC_ABORT;
  }
  body_sent_ += *found;
  if (contact_) contact_->CountBytes(*found);
  return *found;
}

std::size_t CurlTransfer::OnHeader(char* data, std::size_t size, std::size_t count,
                                   void* transfer) {
  auto& self = *static_cast<CurlTransfer*>(transfer);
  const bool taken =
      self.Guarded([&] { return self.TakeHeader(std::string_view(data, size * count)); });
  return taken ? size * count : 0;
}

std::size_t CurlTransfer::OnBody(char* data, std::size_t size, std::size_t count, void* transfer) {
  const ByteSpan bytes = AsBytes(std::string_view(data, size * count));
  // Any other count than that of the bytes makes libcurl end the transfer.
  auto& self = *static_cast<CurlTransfer*>(transfer);
  return self.Guarded([&] { return self.TakeBody(bytes); }) ? bytes.size() : ~std::size_t{0};
}

bool CurlTransfer::TakeHeader(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    refusal_ = Error{
        ErrorCode::kUnavailable,
        "the server sends more than " + std::to_string(kMaxHeaderBytes) + " bytes of header fields",
        EPROTO};
    return false;
  }
  if (line.starts_with("HTTP/")) {  // once more after a provisional answer (1xx)
    response_ = {};
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    Heard(line.size());
    return true;
  }
  Heard(line.size());
  if (auto header = ParseHeaderLine(line)) {
    response_.headers.push_back(*std::move(header));
    return true;
  }
  const bool ends = line == "\r\n" || line == "\n";
  if (!ends || response_.status < 200) return true;
  const auto field = FindHeader(response_.headers, "Content-Length");
  const auto size = field ? ParseContentLength(*field) : std::nullopt;
  if (!size || request_.method == HttpRequest::Method::kHead) return true;
  // Answers 304 announce the size of a body that they do not have.
  if (*size > MaxBody() && response_.status != 304 && response_.status != 204) {
    response_.body_too_large = true;
    return false;
  }
  response_.body.reserve(static_cast<std::size_t>(std::min(*size, kMaxReservedBytes)));
  return true;
}

bool CurlTransfer::TakeBody(ByteSpan bytes) {
  Heard(bytes.size());
  if (response_.body.size() + bytes.size() > MaxBody()) {
    response_.body_too_large = true;
    return false;
  }
  response_.body.insert(response_.body.end(), bytes.begin(), bytes.end());
  return true;
}

std::uint64_t CurlTransfer::MaxBody() const {
  return response_.status == 200 ? request_.max_whole_body : request_.max_other_body;
}

Result<HttpResponse> CurlTransfer::Finish(CURLcode code) {
  if (refusal_) return tl::unexpected<Error>(*refusal_);
  if (code == CURLE_OK || response_.body_too_large) return std::move(response_);
  const std::string text = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
  const std::string message = Printable(text);
  if (code == CURLE_OUT_OF_MEMORY) return Fail(ErrorCode::kResourceExhausted, message);
  if (IsCertificateFailure(code)) return Fail(ErrorCode::kPermissionDenied, message);
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY) {
    return FailWith(EHOSTUNREACH, ErrorCode::kUnavailable, message);
  }
  if (code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR) {
    return FailWith(ECONNREFUSED, ErrorCode::kUnavailable, message);
  }
  return Fail(ErrorCode::kUnavailable, message);
}

}  // namespace unshard
