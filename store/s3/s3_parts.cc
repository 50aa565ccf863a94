#include "store/s3/s3_parts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/http/response.h"
#include "store/http/url.h"
#include "store/object/key.h"
#include "store/remote/write_answers.h"
#include "store/s3/answers.h"
#include "store/s3/s3_requests.h"

namespace unshard {
namespace {

using Method = HttpRequest::Method;

constexpr std::chrono::seconds kAbortTimeout{10};
constexpr std::array<std::chrono::milliseconds, 3> kBetweenBeginnings{
    std::chrono::milliseconds(100), std::chrono::milliseconds(400),
    std::chrono::milliseconds(1600)};

// Of a validator, which is text without white space.
std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"') {
      escaped += "&quot;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

class S3Parts final : public PartedUpload {
 public:
  S3Parts(std::shared_ptr<const S3Access> access, NewObject object, std::string id,
          std::uint64_t size, std::uint64_t part_bytes)
      : access_(std::move(access)),
        object_(std::move(object)),
        id_(std::move(id)),
        size_(size),
        tags_(static_cast<std::size_t>((size + part_bytes - 1) / part_bytes)) {}

  bool takes_parts_in_parallel() const override { return true; }

  Status Put(std::size_t part, std::shared_ptr<const HttpBody> bytes) override {
    HttpRequest request = PartRequest(part);
    UNSHARD_RETURN_IF_ERROR(SetS3Body(request, std::move(bytes)));
    UNSHARD_ASSIGN_OR_RETURN(const HttpResponse response,
                             Send(*access_->transport, std::move(request)));
    const auto put = response.status == 200 ? S3ObjectOf(response.headers, 0) : std::nullopt;
    if (!put) return Failed(part, access_->authorization->Explain(response));
    return Note(part, put->validator);
  }

  Status Copy(std::size_t part, const ByteRange& of_base) override;
  WriteAnswer Complete() override;

  bool Abort() override { return DropS3Parts(*access_, object_.key, id_).has_value(); }
  std::string id() const override { return id_; }

 private:
  [[nodiscard]] HttpRequest PartRequest(std::size_t part) const {
    HttpRequest request = MakeS3Request(*access_, object_.key, Method::kPut);
    request.url += "?partNumber=" + std::to_string(part + 1) + "&uploadId=" + EscapeQueryValue(id_);
    return request;
  }
  [[nodiscard]] Status Failed(std::size_t part, Error error) const {
    return Forward(std::move(error), access_->server->Describe(object_.key) + ": part " +
                                         std::to_string(part + 1) + " of its new version");
  }
  Status Note(std::size_t part, const std::string& tag) {
    const std::lock_guard lock(mutex_);
    tags_.at(part) = tag;
    return {};
  }

  const std::shared_ptr<const S3Access> access_;
  const NewObject object_;
  const std::string id_;
  const std::uint64_t size_;
  std::mutex mutex_;
  std::vector<std::string> tags_;  // of the parts, with their quotes; guarded by mutex_
};

Status S3Parts::Copy(std::size_t part, const ByteRange& of_base) {
  HttpRequest request = PartRequest(part);
  const std::string key = JoinPath(access_->url.prefix, object_.key);
  request.headers.push_back(
      {"x-amz-copy-source", '/' + access_->url.bucket + '/' + EscapeKey(key)});
  request.headers.push_back(
      {"x-amz-copy-source-range",
       "bytes=" + std::to_string(of_base.begin) + '-' + std::to_string(of_base.end() - 1)});
  request.headers.push_back({"x-amz-copy-source-if-match", object_.condition.validator});
  request.deadline = UploadDeadline(of_base.size);
  UNSHARD_ASSIGN_OR_RETURN(const HttpResponse response,
                           Send(*access_->transport, std::move(request)));
  if (response.status == 412 || response.status == 404) {
    return Fail(ErrorCode::kConflict, access_->server->Describe(object_.key),
                ": was replaced while it was copied");
  }
  if (response.status != 200) return Failed(part, access_->authorization->Explain(response));
  // An answer 200 may hold an error, because it begins before the copy ends.
  if (const auto failure = ParseS3Failure(AsText(response.body))) {
    return Failed(part, access_->authorization->Explain(response));
  }
  auto tag = ParseS3ETag(AsText(response.body));
  if (!tag) return Failed(part, std::move(tag).error());
  return Note(part, *tag);
}

WriteAnswer S3Parts::Complete() {
  HttpRequest request = MakeS3Request(*access_, object_.key, Method::kPost);
  request.url += "?uploadId=" + EscapeQueryValue(id_);
  request.once = true;
  AddS3Condition(object_.condition, request.headers);
  request.headers.push_back({"Content-Type", "application/xml"});
  request.body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      request.body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
                      EscapeXml(tags_[i]) + "</ETag></Part>";
    }
  }
  request.body += "</CompleteMultipartUpload>";
  request.deadline = UploadDeadline(size_);
  const auto response = Send(*access_->transport, std::move(request));
  WriteAnswer answer = S3WriteAnswer(response, *access_->authorization);
  if (answer.kind != WriteAnswer::Kind::kApplied) return answer;
  // Where the document is cut the object is there, or it is not: a look at it tells.
  if (const auto tag = ParseS3ETag(AsText(response->body))) {
    answer.object = S3ObjectOf({{"ETag", *tag}}, size_);
    if (answer.object) {
      answer.object->attempts = object_.attempts;
      answer.object->kept = object_.kept;
      answer.object->info.modified.tv_sec = ModifiedOf(*response);
    }
  }
  return answer;
}

}  // namespace

Status DropS3Parts(const S3Access& access, const std::string& key, const std::string& upload) {
  HttpRequest request = MakeS3Request(access, key, Method::kDelete);
  request.url += "?uploadId=" + EscapeQueryValue(upload);
  request.deadline.at =
      std::min(request.deadline.at, std::chrono::steady_clock::now() + kAbortTimeout);
  UNSHARD_ASSIGN_OR_RETURN(const HttpResponse response,
                           Send(*access.transport, std::move(request)));
  // 404: it was completed, or dropped before.
  if ((response.status >= 200 && response.status < 300) || response.status == 404) return {};
  return Forward(access.authorization->Explain(response),
                 access.server->Describe(key) + ": dropping an upload");
}

namespace {

// An upload whose id was lost with the answer cannot be dropped, and costs money until a rule of
// the bucket ends it. So the request is sent again only where the service has not begun one for
// sure.
Result<HttpResponse> SendBeginning(HttpTransport& transport, HttpRequest request) {
  request.once = true;
  auto response = Send(transport, request);
  for (const auto delay : kBetweenBeginnings) {
    const bool unsent = !response && response.error().system_errno == ECONNREFUSED;
    const bool refused = response && (response->status == 503 || response->status == 429);
    if (!unsent && !refused) break;
    if (!Pause(delay, request.deadline, "beginning an upload")) break;
    response = Send(transport, request);
  }
  return response;
}

}  // namespace

Result<std::unique_ptr<PartedUpload>> BeginS3Parts(std::shared_ptr<const S3Access> access,
                                                   const NewObject& object, std::uint64_t size,
                                                   std::uint64_t part_bytes) {
  HttpRequest request = MakeS3Request(*access, object.key, Method::kPost);
  request.url += "?uploads=";
  for (HttpHeader& field : S3MetadataFields(object)) request.headers.push_back(std::move(field));
  const std::string described = access->server->Describe(object.key) + ": beginning an upload";
  const auto response = SendBeginning(*access->transport, std::move(request));
  if (!response) return Forward(response.error(), described);
  if (response->status != 200) {
    return Forward(access->authorization->Explain(*response), described);
  }
  auto id = ParseS3UploadId(AsText(response->body));
  if (!id) return Forward(std::move(id).error(), described);
  return std::make_unique<S3Parts>(std::move(access), object, *std::move(id), size, part_bytes);
}

}  // namespace unshard
