#include "store/gcs/object_requests.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "store/gcs/error_response.h"

namespace unshard {
namespace {

constexpr std::string_view kBuckets = "/storage/v1/b/";
constexpr std::string_view kObjects = "/o/";
constexpr std::size_t kMostDigits = 20;

bool IsGeneration(std::string_view text) { return IsDigits(text) && text.size() <= kMostDigits; }

// Of an ETag that ReadObjectResponse has made; nothing of every other one.
std::optional<std::string> GenerationIn(std::string_view tag) {
  if (tag.size() < 2 || tag.front() != '"' || tag.back() != '"') return std::nullopt;
  tag = tag.substr(1, tag.size() - 2);
  if (!IsGeneration(tag)) return std::nullopt;
  return std::string(tag);
}

void Erase(HttpHeaders& headers, std::string_view name) {
  std::erase_if(headers, [&](const HttpHeader& header) { return LowerCase(header.name) == name; });
}

// The name of an object is one segment of the path: each '/' in it is escaped.
std::string WithNameInOneSegment(const std::string& url) {
  const std::size_t objects = url.find(kObjects, url.find(kBuckets));
  if (objects == std::string::npos) return url;
  const std::size_t name = objects + kObjects.size();
  const std::size_t end = std::min(url.find('?', name), url.size());
  std::string escaped = url.substr(0, name);
  for (const char c : url.substr(name, end - name)) {
    if (c == '/') {
      escaped += "%2F";
    } else {
      escaped += c;
    }
  }
  return escaped + url.substr(end);
}

// Moves a condition from a field to the query; false where it names no generation.
bool MoveCondition(HttpRequest& request, std::string_view field, std::string_view parameter) {
  const auto tag = FindHeader(request.headers, field);
  const auto generation = tag ? GenerationIn(*tag) : std::nullopt;
  if (!generation) return false;
  request.url += '&' + std::string(parameter) + '=' + *generation;
  Erase(request.headers, LowerCase(std::string(field)));
  return true;
}

std::uint64_t RandomNumber() {
  thread_local std::mt19937_64 engine{std::random_device()()};
  return engine();
}

class ObjectTransport final : public HttpTransport {
 public:
  ObjectTransport(std::shared_ptr<HttpTransport> transport, GcsAccess access)
      : transport_(std::move(transport)), access_(access) {}

  void Start(HttpRequest request, Done done) override {
    transport_->Start(MakeObjectRequest(std::move(request), RandomNumber()),
                      [access = access_, done = std::move(done)](Result<HttpResponse> response) {
                        if (!response) return done(std::move(response));
                        done(ReadObjectResponse(*std::move(response), access));
                      });
  }

 private:
  const std::shared_ptr<HttpTransport> transport_;
  const GcsAccess access_;
};

}  // namespace

HttpRequest MakeObjectRequest(HttpRequest request, std::uint64_t nonce) {
  request.url = WithNameInOneSegment(request.url) + "?alt=media&unshard=" + std::to_string(nonce);
  MoveCondition(request, "If-Match", "ifGenerationMatch");
  if (MoveCondition(request, "If-None-Match", "ifGenerationNotMatch")) {
    Erase(request.headers, "if-modified-since");
  }
  Erase(request.headers, "accept-encoding");
  request.headers.push_back({"Accept-Encoding", "gzip"});
  return request;
}

Result<HttpResponse> ReadObjectResponse(HttpResponse response, GcsAccess access) {
  if (IsGcsDenial(response)) {
    const bool may_be_missing = access == GcsAccess::kUnlisted && !IsGcsRateLimit(response);
    if (!may_be_missing) return GcsDenial(response);
    response.status = 404;
  }
  const auto generation = FindHeader(response.headers, "x-goog-generation");
  if (!generation || !IsGeneration(*generation)) return response;
  std::string tag = '"' + std::string(*generation) + '"';
  Erase(response.headers, "etag");
  response.headers.push_back({"ETag", std::move(tag)});
  return response;
}

std::shared_ptr<HttpTransport> MakeObjectTransport(std::shared_ptr<HttpTransport> transport,
                                                   GcsAccess access) {
  return std::make_shared<ObjectTransport>(std::move(transport), access);
}

}  // namespace unshard
