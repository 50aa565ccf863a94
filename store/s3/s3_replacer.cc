#include "store/s3/s3_replacer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "store/http/http_version.h"
#include "store/http/retry.h"
#include "store/object/lasting_warnings.h"
#include "store/object/log.h"
#include "store/remote/write_answers.h"
#include "store/s3/answers.h"
#include "store/s3/s3_parts.h"
#include "store/s3/s3_requests.h"

namespace unshard {
namespace {

using Method = HttpRequest::Method;

constexpr std::size_t kMostGranted = 4096;

bool IsGrant(const HttpHeader& field) { return field.name.starts_with("x-amz-grant-"); }

// Whether the same request may be answered later: also one for which there were no credentials.
// EPROTO: it has been answered, with a refusal.
bool MayPass(const Error& error) {
  if (error.code == ErrorCode::kPermissionDenied) return true;
  if (error.system_errno == ETIMEDOUT || error.system_errno == EINTR) return true;
  return error.code == ErrorCode::kUnavailable && error.system_errno != EPROTO;
}

NewObject WithoutGrants(NewObject object) {
  std::erase_if(object.kept, IsGrant);
  return object;
}

// s3:PutObject does not imply s3:PutObjectAcl. What was refused may also be the write itself: only
// the same write without grants tells.
bool MayRefuseGrants(const NewObject& object, const Error& refusal) {
  const bool refuses = refusal.code == ErrorCode::kPermissionDenied ||
                       refusal.message.find("AccessControlListNotSupported") != std::string::npos;
  return refuses && std::any_of(object.kept.begin(), object.kept.end(), IsGrant);
}

void WarnOfLostGrants(const Error& refusal) {
  LogWarning(refusal.message + "; the object is written without its access control list");
}

class S3Writer final : public ObjectWriter {
 public:
  explicit S3Writer(std::shared_ptr<const S3Access> access) : access_(std::move(access)) {}

  WriterTraits traits() const override {
    WriterTraits traits;
    traits.copies_ranges = true;
    traits.validators_have_quotes = true;
    return traits;
  }
  std::string Bucket() const override { return access_->bucket.Described(); }
  std::string Describe(const std::string& key) const override {
    return access_->server->Describe(key);
  }

  Result<std::optional<RemoteObject>> Look(const std::string& key,
                                           const Deadline& deadline) override;
  Status AddGrants(const std::string& key, RemoteObject& object) override;
  std::shared_ptr<ObjectVersion> Open(const std::string& key, const RemoteObject& object) override;
  WriteAnswer Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) override;
  WriteAnswer Delete(const std::string& key, const WriteCondition& condition) override;
  Result<std::unique_ptr<PartedUpload>> BeginParts(const NewObject& object, std::uint64_t size,
                                                   std::uint64_t part_bytes) override {
    auto begun = BeginS3Parts(access_, object, size, part_bytes);
    if (begun || !MayRefuseGrants(object, begun.error())) return begun;
    auto without = BeginS3Parts(access_, WithoutGrants(object), size, part_bytes);
    if (without) WarnOfLostGrants(begun.error());
    return without;
  }
  Status DropParts(const std::string& key, const std::string& upload) override {
    return DropS3Parts(*access_, key, upload);
  }

 private:
  WriteAnswer PutOnce(const NewObject& object, std::shared_ptr<const HttpBody> bytes);
  void RememberGrants(const NewObject& object, const std::string& validator);
  [[nodiscard]] Result<HttpResponse> Head(const std::string& key, const Deadline& deadline) const;
  // GET of what an object has besides its bytes ("?acl="): the document, or nothing where the
  // service has none, or denies it, with a warning. Fails where asking again may show it: an object
  // that is put without it loses it.
  [[nodiscard]] Result<std::optional<std::string>> ReadDocument(const std::string& key,
                                                                const char* query,
                                                                const Deadline& deadline);

  const std::shared_ptr<const S3Access> access_;
  LastingWarnings denied_;
  // Access control lists are asked for until the service answers with what is none. A refusal to
  // show one, or to take one, is about one object, and may be over at the next request.
  std::atomic<bool> has_grants_{true};
  // Those of the versions that this process has put last.
  struct Granted {
    std::string validator;
    HttpHeaders grants;
  };
  std::mutex granted_mutex_;
  std::map<std::string, Granted> granted_;  // by key; guarded by granted_mutex_
};

Result<HttpResponse> S3Writer::Head(const std::string& key, const Deadline& deadline) const {
  HttpRequest request = access_->server->MakeRequest(key, std::nullopt, deadline);
  request.method = Method::kHead;
  auto head = Send(*access_->transport, request);
  if (!head || (head->status != 400 && head->status != 401 && head->status != 403)) return head;
  // A refusal has a body only where the request is a GET: by it, credentials that have expired and
  // a clock that is wrong are recognised and renewed.
  const HttpRequest get = access_->server->MakeRequest(key, AskedRange{0, 1}, deadline);
  UNSHARD_ASSIGN_OR_RETURN(HttpResponse answer, Send(*access_->transport, get));
  if (IsS3Denial(answer)) return answer;
  return Send(*access_->transport, std::move(request));
}

Result<std::optional<RemoteObject>> S3Writer::Look(const std::string& key,
                                                   const Deadline& deadline) {
  const auto response = Head(key, deadline);
  if (!response) return Forward(response.error(), Describe(key));
  if (response->status == 404 || response->status == 410) return std::nullopt;
  if (access_->denies_listing && IsS3Denial(*response)) return std::nullopt;
  if (response->status != 200) {
    return Forward(access_->authorization->Explain(*response), Describe(key));
  }
  const auto size = FindHeader(response->headers, "Content-Length");
  const auto bytes = size ? ParseContentLength(*size) : std::nullopt;
  auto object = bytes ? S3ObjectOf(response->headers, *bytes) : std::nullopt;
  if (!object) {
    return Fail(ErrorCode::kNotSupported, Describe(key),
                ": the answer of the service has neither size nor ETag of the object");
  }
  const auto tags = FindHeader(response->headers, "x-amz-tagging-count");
  if (tags && *tags != "0") {
    UNSHARD_ASSIGN_OR_RETURN(const auto document, ReadDocument(key, "?tagging=", deadline));
    if (std::string kept = document ? ParseS3Tags(*document) : ""; !kept.empty()) {
      object->kept.push_back({"x-amz-tagging", std::move(kept)});
    }
  }
  return object;
}

Result<std::optional<std::string>> S3Writer::ReadDocument(const std::string& key, const char* query,
                                                          const Deadline& deadline) {
  HttpRequest request = access_->server->MakeRequest(key, std::nullopt, deadline);
  request.url += query;
  request.max_whole_body = kMaxS3Answer;
  const auto response = Send(*access_->transport, std::move(request));
  const std::string what = Describe(key) + query;
  if (!response) {
    if (MayPass(response.error())) return Forward(response.error(), what);
    return std::nullopt;
  }
  if (response->status == 200) return std::string(AsText(response->body));
  Error refusal = access_->authorization->Explain(*response);
  if (IsS3Denial(*response)) {
    denied_.Warn(query, Bucket() + ": replaced objects lose what GET " + query +
                            " returns, because that is denied: " + refusal.message);
  } else if (IsRetriedStatus(response->status) || refusal.code == ErrorCode::kPermissionDenied) {
    return Forward(std::move(refusal), what);
  }
  return std::nullopt;
}

// A bucket that belongs to its owner alone (BucketOwnerEnforced) says that only the owner is
// granted anything.
Status S3Writer::AddGrants(const std::string& key, RemoteObject& object) {
  if (!has_grants_) return {};
  const auto add = [&](const HttpHeaders& grants) {
    for (const HttpHeader& grant : grants) {
      if (!FindHeader(object.kept, grant.name)) object.kept.push_back(grant);
    }
  };
  {
    const std::lock_guard lock(granted_mutex_);
    const auto known = granted_.find(key);
    if (known != granted_.end() && known->second.validator == object.validator) {
      add(known->second.grants);
      return {};
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto document, ReadDocument(key, "?acl=", CallerDeadline()));
  if (!document) return {};
  const auto grants = ParseS3Grants(*document);
  if (grants) {
    add(*grants);
  } else {
    has_grants_ = false;
  }
  return {};
}

void S3Writer::RememberGrants(const NewObject& object, const std::string& validator) {
  Granted granted{validator, {}};
  std::copy_if(object.kept.begin(), object.kept.end(), std::back_inserter(granted.grants), IsGrant);
  const std::lock_guard lock(granted_mutex_);
  if (granted_.size() >= kMostGranted) granted_.clear();
  granted_[object.key] = std::move(granted);
}

std::shared_ptr<ObjectVersion> S3Writer::Open(const std::string& key, const RemoteObject& object) {
  HttpObject opened;
  opened.info = object.info;
  opened.validators.tag = EntityTag{object.validator, false};
  return MakeRangedVersion(access_->server, key, std::move(opened));
}

WriteAnswer S3Writer::Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) {
  WriteAnswer answer = PutOnce(object, bytes);
  const bool refused = answer.kind == WriteAnswer::Kind::kRefused;
  if (!refused || !MayRefuseGrants(object, answer.reason)) return answer;
  WriteAnswer without = PutOnce(WithoutGrants(object), std::move(bytes));
  if (without.kind == WriteAnswer::Kind::kApplied) WarnOfLostGrants(answer.reason);
  return without;
}

WriteAnswer S3Writer::PutOnce(const NewObject& object, std::shared_ptr<const HttpBody> bytes) {
  HttpRequest request = MakeS3Request(*access_, object.key, Method::kPut);
  request.once = true;
  AddS3Condition(object.condition, request.headers);
  for (HttpHeader& field : S3MetadataFields(object)) request.headers.push_back(std::move(field));
  const std::uint64_t size = bytes->size();
  if (Status set = SetS3Body(request, std::move(bytes)); !set) {
    return {WriteAnswer::Kind::kRefused, {}, std::move(set).error()};
  }
  const auto response = Send(*access_->transport, std::move(request));
  WriteAnswer answer = S3WriteAnswer(response, *access_->authorization);
  if (answer.kind != WriteAnswer::Kind::kApplied) {
    answer.reason.message = Describe(object.key) + ": replacing it: " + answer.reason.message;
    return answer;
  }
  answer.object = S3ObjectOf(response->headers, size);
  if (answer.object) {
    answer.object->attempts = object.attempts;
    answer.object->kept = object.kept;
    answer.object->info.modified.tv_sec = ModifiedOf(*response);
    RememberGrants(object, answer.object->validator);
  }
  return answer;
}

WriteAnswer S3Writer::Delete(const std::string& key, const WriteCondition& condition) {
  HttpRequest request = MakeS3Request(*access_, key, Method::kDelete);
  request.once = true;
  AddS3Condition(condition, request.headers);
  WriteAnswer answer =
      S3WriteAnswer(Send(*access_->transport, std::move(request)), *access_->authorization);
  answer.reason.message = Describe(key) + ": removing it: " + answer.reason.message;
  return answer;
}

}  // namespace

std::shared_ptr<ObjectReplacer> MakeS3Replacer(std::shared_ptr<const S3Access> access,
                                               std::shared_ptr<ObjectStore> objects,
                                               const RemoteOptions& options) {
  return MakeRemoteReplacer(std::make_shared<S3Writer>(std::move(access)), std::move(objects),
                            options);
}

}  // namespace unshard
