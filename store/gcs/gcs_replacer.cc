#include "store/gcs/gcs_replacer.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "store/gcs/error_response.h"
#include "store/gcs/object_resource.h"
#include "store/gcs/resumable_upload.h"
#include "store/http/bodies.h"
#include "store/http/body_digests.h"
#include "store/http/http_version.h"
#include "store/object/key.h"
#include "store/remote/attempt_ids.h"
#include "store/remote/write_answers.h"

namespace unshard {
namespace {

using Method = HttpRequest::Method;

// https://cloud.google.com/storage/quotas#objects
constexpr std::chrono::milliseconds kLeastInterval{1000};

class GcsWriter final : public ObjectWriter {
 public:
  explicit GcsWriter(std::shared_ptr<const GcsObjectAccess> access) : access_(std::move(access)) {}

  WriterTraits traits() const override {
    WriterTraits traits;
    traits.least_part_bytes = kGcsPartUnit;
    traits.most_parts = ~std::uint64_t{0};
    if (!access_->endpoint.is_emulator) traits.least_interval = kLeastInterval;
    return traits;
  }
  std::string Bucket() const override {
    return access_->endpoint.base.Described() + '/' + access_->location.bucket;
  }
  std::string Describe(const std::string& key) const override {
    return access_->location.Describe(key);
  }

  Result<std::optional<RemoteObject>> Look(const std::string& key,
                                           const Deadline& deadline) override;
  std::shared_ptr<ObjectVersion> Open(const std::string& key, const RemoteObject& object) override;
  WriteAnswer Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) override;
  WriteAnswer Delete(const std::string& key, const WriteCondition& condition) override;
  Result<std::unique_ptr<PartedUpload>> BeginParts(const NewObject& object, std::uint64_t size,
                                                   std::uint64_t part_bytes) override {
    return BeginResumableUpload(access_, object, size, part_bytes);
  }

 private:
  Result<HttpResponse> Ask(const std::string& key, const char* query,
                           const Deadline& deadline) const;

  const std::shared_ptr<const GcsObjectAccess> access_;
  // The access control lists of objects are asked for until the caller may not see one.
  std::atomic<bool> sees_grants_{true};
};

Result<HttpResponse> GcsWriter::Ask(const std::string& key, const char* query,
                                    const Deadline& deadline) const {
  HttpUrl url = GcsObjectUrl(access_->endpoint, access_->location, key);
  url.query = query;
  HttpRequest request = MakeGcsWriteRequest(Method::kGet, url.Request());
  request.deadline = deadline;
  return Send(*access_->transport, std::move(request));
}

Result<std::optional<RemoteObject>> GcsWriter::Look(const std::string& key,
                                                    const Deadline& deadline) {
  auto response = Ask(key, sees_grants_ ? "projection=full" : "projection=noAcl", deadline);
  if (response && IsGcsDenial(*response) && sees_grants_) {
    response = Ask(key, "projection=noAcl", deadline);
    if (response && response->status == 200) sees_grants_ = false;
  }
  if (!response) return Forward(std::move(response).error(), Describe(key));
  const bool hidden = access_->access == GcsAccess::kUnlisted && IsGcsDenial(*response);
  if (response->status == 404 || hidden) return std::nullopt;
  if (response->status != 200) return Forward(ExplainGcs(*response), Describe(key));
  auto object = ParseGcsObject(AsText(response->body));
  if (!object) return Forward(std::move(object).error(), Describe(key));
  return *std::move(object);
}

std::shared_ptr<ObjectVersion> GcsWriter::Open(const std::string& key, const RemoteObject& object) {
  HttpObject opened;
  opened.info = object.info;
  opened.validators.tag = EntityTag{'"' + object.validator + '"', false};
  return MakeRangedVersion(access_->server, key, std::move(opened));
}

WriteAnswer GcsWriter::Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) {
  const auto crc32c = Crc32cOf(*bytes);
  if (!crc32c) return {WriteAnswer::Kind::kRefused, {}, crc32c.error()};
  HttpUrl url = GcsUploadUrl(access_->endpoint, access_->location);
  url.query = "uploadType=multipart&name=" +
              EscapeQueryValue(JoinPath(access_->location.prefix, object.key)) +
              GcsConditionQuery(object.condition);
  HttpRequest request = MakeGcsWriteRequest(Method::kPost, url.Request());
  request.once = true;
  // Unknown to whatever has made the bytes.
  const std::string boundary = "unshard-" + NewAttemptId() + NewAttemptId();
  request.headers.push_back({"Content-Type", "multipart/related; boundary=" + boundary});
  const std::string before = "--" + boundary +
                             "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" +
                             MakeGcsResource(object, *crc32c) + "\r\n--" + boundary +
                             "\r\nContent-Type: " + GcsContentType(object) + "\r\n\r\n";
  request.streamed =
      JoinBodies({BodyOf(before), std::move(bytes), BodyOf("\r\n--" + boundary + "--\r\n")});
  request.deadline = UploadDeadline(request.streamed->size());
  WriteAnswer answer = GcsWriteAnswer(Send(*access_->transport, std::move(request)));
  answer.reason.message = Describe(object.key) + ": replacing it: " + answer.reason.message;
  return answer;
}

WriteAnswer GcsWriter::Delete(const std::string& key, const WriteCondition& condition) {
  HttpUrl url = GcsObjectUrl(access_->endpoint, access_->location, key);
  url.query = GcsConditionQuery(condition);
  if (!url.query.empty()) url.query.erase(0, 1);
  HttpRequest request = MakeGcsWriteRequest(Method::kDelete, url.Request());
  request.once = true;
  WriteAnswer answer = GcsWriteAnswer(Send(*access_->transport, std::move(request)));
  answer.reason.message = Describe(key) + ": removing it: " + answer.reason.message;
  return answer;
}

}  // namespace

std::shared_ptr<ObjectReplacer> MakeGcsReplacer(std::shared_ptr<const GcsObjectAccess> access,
                                                std::shared_ptr<ObjectStore> objects,
                                                const RemoteOptions& options) {
  RemoteOptions own = options;
  own.part_bytes = std::max(own.part_bytes / kGcsPartUnit, std::uint64_t{1}) * kGcsPartUnit;
  return MakeRemoteReplacer(std::make_shared<GcsWriter>(std::move(access)), std::move(objects),
                            own);
}

}  // namespace unshard
