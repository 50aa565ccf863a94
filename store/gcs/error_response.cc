#include "store/gcs/error_response.h"

#include <algorithm>
#include <optional>

#include "codec/core/escaped_text.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"

namespace unshard {
namespace {

constexpr JsonLimits kErrorLimits{std::size_t{64} << 10, 16, 10'000};
constexpr std::size_t kMostShownOfError = 300;

// {"error": {"code": 403, "message": "…", "errors": [{"reason": "…"}]}}
JsonValue ErrorIn(const HttpResponse& response) {
  const auto answer = ParseJson(AsText(response.body), kErrorLimits);
  const JsonValue* const error = answer ? answer->Find("error") : nullptr;
  return error == nullptr ? JsonValue() : *error;
}

}  // namespace

std::string GcsErrorText(const HttpResponse& response) {
  const JsonValue error = ErrorIn(response);
  std::string text =
      error.is_object() ? TextOf(error, "message") : std::string(AsText(response.body));
  // Nothing can be shown of a page of HTML.
  if (text.find('<') != std::string::npos) return "";
  while (text.ends_with('\n')) text.pop_back();
  return Printable(text.substr(0, kMostShownOfError));
}

bool IsGcsDenial(const HttpResponse& response) {
  return response.status == 401 || response.status == 403;
}

tl::unexpected<Error> GcsDenial(const HttpResponse& response) {
  const std::string text = GcsErrorText(response);
  return Fail(ErrorCode::kPermissionDenied, "the service denies access (HTTP ", response.status,
              ")", text.empty() ? "" : ": " + text);
}

bool HasGcsReason(const HttpResponse& response, std::string_view reason) {
  const JsonValue error = ErrorIn(response);
  const auto& reasons = ItemsOf(error, "errors");
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const JsonValue& each) { return TextOf(each, "reason") == reason; });
}

bool IsGcsRateLimit(const HttpResponse& response) {
  return response.status == 403 && (HasGcsReason(response, "rateLimitExceeded") ||
                                    HasGcsReason(response, "userRateLimitExceeded"));
}

}  // namespace unshard
