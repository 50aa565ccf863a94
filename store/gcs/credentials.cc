#include "store/gcs/credentials.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "codec/core/escaped_text.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "store/gcs/signed_assertion.h"
#include "store/http/url.h"

namespace unshard {
namespace {

constexpr JsonLimits kLimits{std::size_t{1} << 20, 16, 10'000};
constexpr std::uint64_t kMostTokenBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kLeastLifetime = 60;  // of a token; less would be a request for each use
constexpr std::uint64_t kUsualLifetime = 3600;
constexpr std::uint64_t kMostLifetime = std::uint64_t{7} * 24 * 3600;
constexpr std::size_t kMostShown = 200;
constexpr const char* kTokenUrl = "https://oauth2.googleapis.com/token";
constexpr const char* kReadScope = "https://www.googleapis.com/auth/devstorage.read_only";
constexpr const char* kFullScope = "https://www.googleapis.com/auth/devstorage.full_control";
constexpr const char* kMachineToken = "/computeMetadata/v1/instance/service-accounts/default/token";

tl::unexpected<Error> NoCredential(const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, "not a credential of Google Cloud: ", what);
}

// Errors name the field, never its value.
Status TakeField(const JsonValue& object, const char* name, std::string& to) {
  to = TextOf(object, name);
  if (to.empty()) return NoCredential(std::string("the field '") + name + "' is missing");
  return {};
}

Status TakeTokenUrl(const JsonValue& object, std::string& to) {
  to = TextOf(object, "token_uri");
  if (to.empty()) to = kTokenUrl;
  const auto url = ParseHttpUrl(to);
  if (url && (url->is_https() || IsLoopback(*url))) return {};
  return NoCredential("the field 'token_uri' is not an https URL");
}

HttpRequest MakePost(const std::string& url, std::string body) {
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  request.url = url;
  request.body = std::move(body);
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  return request;
}

Result<HttpRequest> MakeRequest(const GcsServiceAccount& account, std::time_t now, GcsScope scope) {
  const char* const name = scope == GcsScope::kRead ? kReadScope : kFullScope;
  UNSHARD_ASSIGN_OR_RETURN(
      const std::string assertion,
      SignAssertion({account.email, name, account.token_url, account.key_id, now},
                    account.private_key));
  return MakePost(account.token_url,
                  "grant_type=" + EscapeQueryValue("urn:ietf:params:oauth:grant-type:jwt-bearer") +
                      "&assertion=" + assertion);
}

Result<HttpRequest> MakeRequest(const GcsUser& user, std::time_t, GcsScope) {
  return MakePost(user.token_url,
                  "grant_type=refresh_token&client_id=" + EscapeQueryValue(user.client_id) +
                      "&client_secret=" + EscapeQueryValue(user.client_secret) +
                      "&refresh_token=" + EscapeQueryValue(user.refresh_token));
}

Result<HttpRequest> MakeRequest(const GcsMachine& machine, std::time_t, GcsScope) {
  HttpRequest request;
  request.url = machine.metadata_origin + kMachineToken;
  request.headers = {{"Metadata-Flavor", "Google"}};
  return request;
}

bool IsToken(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// RFC 6749, 5.2: a word such as "invalid_grant", and a sentence.
std::string RefusalIn(const HttpResponse& response) {
  std::string text = "HTTP " + std::to_string(response.status);
  const auto answer = ParseJson(AsText(response.body), kLimits);
  if (!answer) return text;
  for (const char* name : {"error", "error_description"}) {
    const std::string value = TextOf(*answer, name);
    if (!value.empty()) text += ": " + Printable(value.substr(0, kMostShown));
  }
  return text;
}

}  // namespace

Result<GcsCredential> ParseGcsCredential(std::string_view text) {
  const auto object = ParseJson(text, kLimits);
  // Not the parser's message: it may quote what it found.
  if (!object || !object->is_object()) return NoCredential("the file is not a JSON object");
  const std::string type = TextOf(*object, "type");
  if (type == "service_account") {
    GcsServiceAccount account;
    UNSHARD_RETURN_IF_ERROR(TakeField(*object, "client_email", account.email));
    UNSHARD_RETURN_IF_ERROR(TakeField(*object, "private_key", account.private_key));
    UNSHARD_RETURN_IF_ERROR(TakeTokenUrl(*object, account.token_url));
    account.key_id = TextOf(*object, "private_key_id");
    return account;
  }
  if (type == "authorized_user") {
    GcsUser user;
    UNSHARD_RETURN_IF_ERROR(TakeField(*object, "client_id", user.client_id));
    UNSHARD_RETURN_IF_ERROR(TakeField(*object, "client_secret", user.client_secret));
    UNSHARD_RETURN_IF_ERROR(TakeField(*object, "refresh_token", user.refresh_token));
    UNSHARD_RETURN_IF_ERROR(TakeTokenUrl(*object, user.token_url));
    return user;
  }
  return NoCredential("credentials of the type '" + Printable(type.substr(0, kMostShown)) +
                      "' are not supported; expected service_account or authorized_user");
}

std::string DescribeGcsCredential(const GcsCredential& credential) {
  if (const auto* account = std::get_if<GcsServiceAccount>(&credential)) {
    return "the service account " + Printable(account->email.substr(0, kMostShown));
  }
  if (std::holds_alternative<GcsUser>(credential)) return "the user's login";
  return "the machine's service account";
}

Result<HttpRequest> MakeTokenRequest(const GcsCredential& credential, std::time_t now,
                                     GcsScope scope) {
  auto request =
      std::visit([&](const auto& each) { return MakeRequest(each, now, scope); }, credential);
  if (!request) return request;
  request->headers.push_back({"User-Agent", "unshard"});
  request->max_whole_body = kMostTokenBytes;
  request->max_other_body = kMostTokenBytes;
  return request;
}

Result<GcsToken> ParseTokenResponse(const HttpResponse& response) {
  if (response.status >= 400 && response.status < 500) {
    return Fail(ErrorCode::kPermissionDenied, "the token server refuses the credential (",
                RefusalIn(response), ")");
  }
  if (response.status != 200) {
    return Fail(ErrorCode::kUnavailable, "the token server answered HTTP ", response.status);
  }
  const auto fail = [] {
    return Fail(ErrorCode::kUnavailable, "the token server answered without a token");
  };
  if (response.body_too_large) return fail();
  const auto object = ParseJson(AsText(response.body), kLimits);
  if (!object) return fail();
  GcsToken token;
  token.value = TextOf(*object, "access_token");
  if (!IsToken(token.value)) return fail();
  const JsonValue* const lifetime = object->Find("expires_in");
  std::uint64_t seconds = kUsualLifetime;
  if (lifetime != nullptr && lifetime->is_number()) {
    const std::string& digits = lifetime->text();
    std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  }
  token.lifetime = std::chrono::seconds(std::clamp(seconds, kLeastLifetime, kMostLifetime));
  return token;
}

}  // namespace unshard
