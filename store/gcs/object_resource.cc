#include "store/gcs/object_resource.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "store/gcs/error_response.h"
#include "store/http/http_answer.h"
#include "store/http/iso_time.h"
#include "store/http/retry.h"
#include "store/remote/attempt_ids.h"
#include "store/remote/write_answers.h"

namespace unshard {
namespace {

constexpr JsonLimits kResourceLimits{std::size_t{1} << 20, 16, 20'000};
constexpr std::size_t kMostSizeDigits = 19;
constexpr const char* kAttempts = "unshard-attempts";
constexpr std::array<std::string_view, 6> kKept = {"contentType",        "cacheControl",
                                                   "contentDisposition", "contentLanguage",
                                                   "customTime",         "storageClass"};

tl::unexpected<Error> NoResource() {
  return FailWith(EPROTO, ErrorCode::kUnavailable,
                  "the answer of the service does not describe an object");
}

std::optional<std::uint64_t> NumberIn(const JsonValue& resource, std::string_view name) {
  const std::string text = TextOf(resource, name);
  if (text.size() > kMostSizeDigits) return std::nullopt;
  return ParseContentLength(text);
}

// Grants, as they are given; what else the service says of them it says of its own.
JsonValue Grants(const JsonValue& resource) {
  std::vector<JsonValue> grants;
  for (const JsonValue& each : ItemsOf(resource, "acl")) {
    const std::string entity = TextOf(each, "entity"), role = TextOf(each, "role");
    if (entity.empty() || role.empty()) continue;
    grants.push_back(JsonValue::Object(
        {{"entity", JsonValue::String(entity)}, {"role", JsonValue::String(role)}}));
  }
  return JsonValue::Array(std::move(grants));
}

// What goes into a field must not end it.
bool IsFieldText(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

JsonValue MetadataIn(const HttpHeaders& kept) {
  const auto text = FindHeader(kept, "metadata");
  const auto metadata = ParseJson(text.value_or("{}"), kResourceLimits);
  return metadata && metadata->is_object() ? *metadata : JsonValue::Object();
}

}  // namespace

Result<RemoteObject> ParseGcsObject(std::string_view text) {
  const auto resource = ParseJson(text, kResourceLimits);
  if (!resource || !resource->is_object()) return NoResource();
  const auto generation = NumberIn(*resource, "generation");
  const auto size = NumberIn(*resource, "size");
  if (!generation || *generation == 0 || !size) return NoResource();
  RemoteObject object;
  object.validator = std::to_string(*generation);
  object.info.size = *size;
  object.info.modified.tv_sec = ParseIsoTime(TextOf(*resource, "updated")).value_or(0);
  // As readers are given it (store/gcs/object_requests.h).
  Validators validators;
  validators.tag = EntityTag{'"' + object.validator + '"', false};
  object.info.generation = GenerationOf(validators, *size, nullptr);
  for (const std::string_view name : kKept) {
    const JsonValue* const member = resource->Find(name);
    if (member != nullptr && member->is_string()) {
      object.kept.push_back({std::string(name), WriteJson(*member, 0)});
    }
  }
  if (const JsonValue* const metadata = resource->Find("metadata")) {
    object.attempts = ParseAttemptIds(TextOf(*metadata, kAttempts));
    JsonValue others = *metadata;
    if (others.is_object()) {
      others.Erase(kAttempts);
      object.kept.push_back({"metadata", WriteJson(others, 0)});
    }
  }
  const JsonValue grants = Grants(*resource);
  if (!grants.items().empty()) object.kept.push_back({"acl", WriteJson(grants, 0)});
  return object;
}

std::string MakeGcsResource(const NewObject& object, const std::string& crc32c) {
  JsonValue resource = JsonValue::Object();
  for (const HttpHeader& member : object.kept) {
    if (auto value = ParseJson(member.value, kResourceLimits))
      resource.Set(member.name, *std::move(value));
  }
  resource.Set("contentType", JsonValue::String(GcsContentType(object)));
  JsonValue metadata = MetadataIn(object.kept);
  metadata.Set(kAttempts, JsonValue::String(FormatAttemptIds(object.attempts)));
  resource.Set("metadata", std::move(metadata));
  if (!crc32c.empty()) resource.Set("crc32c", JsonValue::String(crc32c));
  return WriteJson(resource, 0);
}

std::string GcsContentType(const NewObject& object) {
  const auto text = FindHeader(object.kept, "contentType");
  const auto kept = ParseJson(text.value_or("null"), kResourceLimits);
  if (kept && kept->is_string() && IsFieldText(kept->text())) return kept->text();
  return object.key.ends_with(".json") ? "application/json" : "application/octet-stream";
}

std::string GcsConditionQuery(const WriteCondition& condition) {
  switch (condition.kind) {
    case WriteCondition::Kind::kNone:
      return {};
    case WriteCondition::Kind::kMissing:
      return "&ifGenerationMatch=0";
    case WriteCondition::Kind::kVersion:
      return "&ifGenerationMatch=" + condition.validator;
  }
  return {};
}

WriteAnswer GcsWriteAnswer(const Result<HttpResponse>& response) {
  using Kind = WriteAnswer::Kind;
  if (!response) return UnansweredWrite(response.error());
  const int status = response->status;
  if (status >= 200 && status < 300) {
    WriteAnswer answer{Kind::kApplied};
    if (auto object = ParseGcsObject(AsText(response->body))) {
      if (object->info.modified.tv_sec == 0) object->info.modified.tv_sec = ModifiedOf(*response);
      answer.object = *std::move(object);
    }
    return answer;
  }
  WriteAnswer answer{Kind::kRefused, {}, ExplainGcs(*response), RetryAfterOf(*response)};
  if (status == 412 || status == 409 || status == 404 || status == 304) {
    answer.kind = Kind::kConditionFailed;
  } else if (IsRetriedStatus(status) || IsGcsRateLimit(*response)) {
    answer.kind = Kind::kFailed;
  }
  return answer;
}

Error ExplainGcs(const HttpResponse& response) {
  const std::string text = GcsErrorText(response);
  const std::string what =
      "HTTP " + std::to_string(response.status) + (text.empty() ? "" : ": " + text);
  if (response.status == 507) {
    return {ErrorCode::kResourceExhausted, "the store is full (" + what + ')', ENOSPC};
  }
  if (HasGcsReason(response, "quotaExceeded") || HasGcsReason(response, "dailyLimitExceeded")) {
    return {ErrorCode::kResourceExhausted, "the quota of the store is used up (" + what + ')',
            EDQUOT};
  }
  if (IsGcsRateLimit(response) || IsRetriedStatus(response.status)) {
    return {ErrorCode::kUnavailable, "the service answered " + what, 0};
  }
  if (IsGcsDenial(response)) return GcsDenial(response).value();
  if (response.status == 501) {
    return {ErrorCode::kNotSupported, "the service answered " + what, 0};
  }
  return {ErrorCode::kUnavailable, "the service answered " + what, EPROTO};
}

}  // namespace unshard
