#include "store/gcs/resumable_upload.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/gcs/object_resource.h"
#include "store/http/bodies.h"
#include "store/http/retry.h"
#include "store/http/url.h"
#include "store/object/deadline.h"
#include "store/object/key.h"
#include "store/remote/write_answers.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;
using Method = HttpRequest::Method;

constexpr std::uint64_t kMostAnswer = std::uint64_t{1} << 20;
constexpr int kTries = 8;
constexpr std::chrono::milliseconds kLeastDelay{100};
constexpr std::chrono::seconds kAbortTimeout{10};

// How much of an upload the service has, as an answer 308 tells: "bytes=0-524287", or nothing.
std::optional<std::uint64_t> BytesHeld(const HttpResponse& response) {
  const auto range = FindHeader(response.headers, "Range");
  if (!range) return 0;
  constexpr std::string_view kFromStart = "bytes=0-";
  if (!range->starts_with(kFromStart)) return std::nullopt;
  const auto last = ParseContentLength(range->substr(kFromStart.size()));
  if (!last || *last == ~std::uint64_t{0}) return std::nullopt;
  return *last + 1;
}

class ResumableUpload final : public PartedUpload {
 public:
  ResumableUpload(std::shared_ptr<const GcsObjectAccess> access, NewObject object, std::string url,
                  std::uint64_t size, std::uint64_t part_bytes)
      : access_(std::move(access)),
        object_(std::move(object)),
        url_(std::move(url)),
        size_(size),
        part_bytes_(part_bytes) {}

  bool takes_parts_in_parallel() const override { return false; }
  Status Put(std::size_t part, std::shared_ptr<const HttpBody> bytes) override;
  Status Copy(std::size_t, const ByteRange&) override {
    return Fail(ErrorCode::kNotSupported, "the service cannot copy ranges");
  }
  WriteAnswer Complete() override;
  bool Abort() override {
    HttpRequest request = MakeGcsWriteRequest(Method::kDelete, url_);
    request.deadline.at = std::chrono::steady_clock::now() + kAbortTimeout;
    return Send(*access_->transport, std::move(request)).has_value();
  }

 private:
  // Sends what the service does not have of `bytes`, which begin at `begin`.
  Result<HttpResponse> SendFrom(std::uint64_t begin, const HttpBodyPtr& bytes);
  [[nodiscard]] Status Failed(std::size_t part, Error reason) const {
    return Forward(std::move(reason), access_->location.Describe(object_.key) + ": part " +
                                          std::to_string(part + 1) + " of its new version");
  }
  // Emulators take the question for the end of the upload, and make an object of what they have.
  [[nodiscard]] bool CanAsk() const { return !access_->endpoint.is_emulator; }
  // Asks how much the service has; the answer is 308, or that of the last part.
  Result<HttpResponse> AskForHeld();

  const std::shared_ptr<const GcsObjectAccess> access_;
  const NewObject object_;
  const std::string url_;  // secret: who knows it may upload
  const std::uint64_t size_;
  const std::uint64_t part_bytes_;
  std::uint64_t held_ = 0;  // by the service
  HttpBodyPtr last_;
  std::uint64_t last_begin_ = 0;
  bool last_was_sent_ = false;
};

Result<HttpResponse> ResumableUpload::SendFrom(std::uint64_t begin, const HttpBodyPtr& bytes) {
  HttpRequest request = MakeGcsWriteRequest(Method::kPut, url_);
  request.once = true;
  const std::uint64_t end = begin + bytes->size();
  const std::uint64_t from = std::clamp(held_, begin, end);
  request.streamed = PartOf(bytes, {from - begin, end - from});
  const std::string range =
      from == end ? std::string("*") : std::to_string(from) + '-' + std::to_string(end - 1);
  request.headers.push_back({"Content-Range", "bytes " + range + '/' + std::to_string(size_)});
  request.deadline = UploadDeadline(end - from);
  return Send(*access_->transport, std::move(request));
}

Result<HttpResponse> ResumableUpload::AskForHeld() {
  HttpRequest request = MakeGcsWriteRequest(Method::kPut, url_);
  request.headers.push_back({"Content-Range", "bytes */" + std::to_string(size_)});
  return Send(*access_->transport, std::move(request));
}

Status ResumableUpload::Put(std::size_t part, std::shared_ptr<const HttpBody> bytes) {
  const std::uint64_t begin = part_bytes_ * part;
  const std::uint64_t end = begin + bytes->size();
  if (end == size_) {
    last_ = std::move(bytes);
    last_begin_ = begin;
    return {};
  }
  Error reason{ErrorCode::kUnavailable, "the service stores no more of its bytes", 0};
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) {
      UNSHARD_RETURN_IF_ERROR(Pause(kLeastDelay * (1 << (i - 1)), CallerDeadline(),
                                    "putting a part of an object again"));
    }
    auto response = SendFrom(begin, bytes);
    // What was sent has arrived, or a part of it has.
    if (!response || IsRetriedStatus(response->status)) {
      if (!CanAsk()) return Failed(part, response ? ExplainGcs(*response) : response.error());
      response = AskForHeld();
    }
    if (!response) {
      reason = std::move(response).error();
      continue;
    }
    const auto held = response->status == 308 ? BytesHeld(*response) : std::nullopt;
    if (!held || *held < held_ || *held > end) {
      reason = ExplainGcs(*response);
      if (IsRetriedStatus(response->status)) continue;
      break;
    }
    held_ = *held;
    if (held_ == end) return {};
  }
  return Failed(part, std::move(reason));
}

WriteAnswer ResumableUpload::Complete() {
  if (!last_) return {Kind::kRefused, {}, {ErrorCode::kInternal, "an upload that does not end", 0}};
  if (last_was_sent_ && !CanAsk()) {
    return {
        Kind::kConditionFailed, {}, {ErrorCode::kUnavailable, "the upload has to start again", 0}};
  }
  if (last_was_sent_) {
    const auto response = AskForHeld();
    if (!response || response->status != 308) return GcsWriteAnswer(response);
    if (const auto held = BytesHeld(*response)) held_ = std::max(held_, *held);
  }
  last_was_sent_ = true;
  const auto response = SendFrom(last_begin_, last_);
  if (response && response->status == 308) {
    return {Kind::kFailed, {}, {ErrorCode::kUnavailable, "the upload is not complete yet", 0}};
  }
  return GcsWriteAnswer(response);
}

}  // namespace

HttpRequest MakeGcsWriteRequest(HttpRequest::Method method, std::string url) {
  HttpRequest request;
  request.method = method;
  request.url = std::move(url);
  request.headers = {{"Accept-Encoding", "identity"}, {"User-Agent", "unshard"}};
  request.max_whole_body = request.max_other_body = kMostAnswer;
  request.deadline = UploadDeadline(0);
  return request;
}

Result<std::unique_ptr<PartedUpload>> BeginResumableUpload(
    std::shared_ptr<const GcsObjectAccess> access, const NewObject& object, std::uint64_t size,
    std::uint64_t part_bytes) {
  HttpUrl url = GcsUploadUrl(access->endpoint, access->location);
  url.query = "uploadType=resumable&name=" +
              EscapeQueryValue(JoinPath(access->location.prefix, object.key)) +
              GcsConditionQuery(object.condition);
  HttpRequest request = MakeGcsWriteRequest(Method::kPost, url.Request());
  request.headers.push_back({"Content-Type", "application/json; charset=UTF-8"});
  request.headers.push_back({"X-Upload-Content-Length", std::to_string(size)});
  request.body = MakeGcsResource(object, "");
  const std::string described = access->location.Describe(object.key) + ": beginning an upload";
  const auto response = Send(*access->transport, std::move(request));
  if (!response) return Forward(response.error(), described);
  if (response->status != 200 && response->status != 201) {
    // Some services look at the condition here already.
    Error error = ExplainGcs(*response);
    if (response->status == 412) error.code = ErrorCode::kConflict;
    return Forward(std::move(error), described);
  }
  const auto location = FindHeader(response->headers, "Location");
  const auto session = location ? ResolveHttpUrl(url, std::string(*location))
                                : Result<HttpUrl>(FailWith(EPROTO, ErrorCode::kUnavailable, ""));
  if (!session || session->origin != url.origin) {
    return FailWith(EPROTO, ErrorCode::kUnavailable, described,
                    ": the service returned no upload URL on its own host");
  }
  return std::make_unique<ResumableUpload>(std::move(access), object, session->Request(), size,
                                           part_bytes);
}

}  // namespace unshard
