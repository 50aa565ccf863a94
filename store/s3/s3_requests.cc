#include "store/s3/s3_requests.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "codec/core/lower_case.h"
#include "store/http/body_digests.h"
#include "store/http/http_answer.h"
#include "store/http/response.h"
#include "store/http/retry.h"
#include "store/remote/attempt_ids.h"
#include "store/remote/write_answers.h"
#include "store/s3/answers.h"

namespace unshard {
namespace {

constexpr std::string_view kUserMetadata = "x-amz-meta-";
constexpr std::string_view kAttempts = "x-amz-meta-unshard-attempts";
// Of the names and values of all user metadata of an object.
constexpr std::size_t kMostUserMetadata = 2048;
constexpr std::array<std::string_view, 10> kKept = {
    "content-type",
    "cache-control",
    "content-disposition",
    "content-language",
    "expires",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-server-side-encryption-bucket-key-enabled"};
constexpr std::uint64_t kMostAnswer = std::uint64_t{1} << 20;

bool IsKept(std::string_view name) {
  return name != kAttempts && (name.starts_with(kUserMetadata) ||
                               std::find(kKept.begin(), kKept.end(), name) != kKept.end());
}

}  // namespace

std::optional<RemoteObject> S3ObjectOf(const HttpHeaders& headers, std::uint64_t size) {
  const Validators validators = ParseValidators(headers);
  if (!validators.tag || validators.tag->weak) return std::nullopt;
  RemoteObject object;
  object.info.size = size;
  object.info.generation = GenerationOf(validators, size, nullptr);
  object.info.modified.tv_sec = validators.modified;
  object.validator = validators.tag->quoted;
  if (const auto ids = FindHeader(headers, kAttempts)) object.attempts = ParseAttemptIds(*ids);
  for (const HttpHeader& header : headers) {
    std::string name = LowerCase(header.name);
    if (IsKept(name)) object.kept.push_back({std::move(name), header.value});
  }
  return object;
}

HttpHeaders S3MetadataFields(const NewObject& object) {
  HttpHeaders fields = object.kept;
  if (!FindHeader(fields, "Content-Type")) {
    fields.push_back({"content-type", object.key.ends_with(".json") ? "application/json"
                                                                    : "application/octet-stream"});
  }
  std::size_t taken = kAttempts.size() - kUserMetadata.size();
  for (const HttpHeader& field : fields) {
    if (!field.name.starts_with(kUserMetadata)) continue;
    taken += field.name.size() - kUserMetadata.size() + field.value.size();
  }
  std::vector<std::string> ids = object.attempts;
  while (ids.size() > 1 && taken + FormatAttemptIds(ids).size() > kMostUserMetadata) ids.pop_back();
  fields.push_back({std::string(kAttempts), FormatAttemptIds(ids)});
  return fields;
}

void AddS3Condition(const WriteCondition& condition, HttpHeaders& headers) {
  switch (condition.kind) {
    case WriteCondition::Kind::kNone:
      return;
    case WriteCondition::Kind::kMissing:
      headers.push_back({"If-None-Match", "*"});
      return;
    case WriteCondition::Kind::kVersion:
      headers.push_back({"If-Match", condition.validator});
      return;
  }
}

WriteAnswer S3WriteAnswer(const Result<HttpResponse>& response,
                          const S3Authorization& authorization) {
  using Kind = WriteAnswer::Kind;
  if (!response) return UnansweredWrite(response.error());
  const int status = response->status;
  const S3Failure failure = ParseS3Failure(AsText(response->body)).value_or(S3Failure{});
  if (status >= 200 && status < 300 && failure.code.empty()) return {Kind::kApplied};
  WriteAnswer answer{Kind::kRefused, {}, authorization.Explain(*response), RetryAfterOf(*response)};
  if (status == 412 || status == 409 || failure.code == "PreconditionFailed" ||
      failure.code == "ConditionalRequestConflict" || answer.reason.code == ErrorCode::kNotFound) {
    answer.kind = Kind::kConditionFailed;
  } else if (status < 300 || IsRetriedStatus(status) || failure.code == "RequestTimeout") {
    answer.kind = Kind::kFailed;
  }
  return answer;
}

HttpRequest MakeS3Request(const S3Access& access, const std::string& key,
                          HttpRequest::Method method) {
  HttpRequest request = access.server->MakeRequest(key, std::nullopt, {});
  request.method = method;
  request.max_whole_body = request.max_other_body = kMostAnswer;
  request.deadline = UploadDeadline(0);
  return request;
}

Status SetS3Body(HttpRequest& request, std::shared_ptr<const HttpBody> body) {
  if (request.url.starts_with("https:")) {
    UNSHARD_ASSIGN_OR_RETURN(std::string digest, Md5Of(*body));
    request.headers.push_back({"Content-MD5", std::move(digest)});
    request.headers.push_back({"X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"});
  } else {
    UNSHARD_ASSIGN_OR_RETURN(std::string digest, Sha256Of(*body));
    request.headers.push_back({"X-Amz-Content-Sha256", std::move(digest)});
  }
  request.deadline = UploadDeadline(body->size());
  request.streamed = std::move(body);
  return {};
}

}  // namespace unshard
