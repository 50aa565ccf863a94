#include "store/s3/credential_service.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <utility>

#include "codec/core/bytes.h"
#include "codec/core/text.h"
#include "store/http/curl_transport.h"
#include "store/http/retry.h"
#include "store/http/transport.h"
#include "store/http/url.h"
#include "store/remote/text_file.h"
#include "store/s3/endpoint.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;
using Found = Result<std::optional<ExpiringCredentials>>;

constexpr std::uint64_t kMaxAnswer = std::uint64_t{1} << 20;
// The metadata service is on the machine itself, or not at all.
constexpr milliseconds kMachineTimeout{1000};
constexpr int kMachineTries = 2;
constexpr std::string_view kContainerHost = "http://169.254.170.2";
constexpr std::array<std::string_view, 3> kContainerHosts = {
    kContainerHost, "http://169.254.170.23", "http://[fd00:ec2::23]"};

std::shared_ptr<HttpTransport> Transport(bool through_proxies, milliseconds connect_timeout,
                                         int attempts) {
  CurlOptions curl;
  curl.connections_per_host = 1;
  curl.connect_timeout = connect_timeout;
  curl.through_proxies = through_proxies;
  RetryOptions retry;
  retry.attempts = retry.attempts_of_unknown_hosts = attempts;
  return WithRetries(MakeCurlTransport(curl), retry);
}

HttpRequest Request(const std::string& url, const Deadline& deadline) {
  HttpRequest request;
  request.url = url;
  request.headers = {{"User-Agent", "unshard"}, {"Accept-Encoding", "identity"}};
  request.max_whole_body = request.max_other_body = kMaxAnswer;
  request.deadline = deadline;
  return request;
}

Result<ExpiringCredentials> AskForRole(std::string form, const AwsRole& role,
                                       const AwsCredentials* by, const std::string& region,
                                       const Environment& environment, const Deadline& deadline) {
  const std::string session = role.session_name.empty() ? "unshard" : role.session_name;
  form += "&Version=2011-06-15&RoleArn=" + EscapeQueryValue(role.arn) +
          "&RoleSessionName=" + EscapeQueryValue(session);
  if (!role.external_id.empty()) form += "&ExternalId=" + EscapeQueryValue(role.external_id);
  std::string url = environment("AWS_ENDPOINT_URL_STS");
  if (url.empty()) {
    url = "https://sts." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
  }
  while (url.ends_with('/')) url.pop_back();
  const auto service = ParseHttpUrl(url);
  if (!service) return CredentialsDenied("AWS_ENDPOINT_URL_STS is not an http or https URL");
  if (!service->is_https() && !IsLoopback(*service)) {
    return CredentialsDenied("AWS_ENDPOINT_URL_STS is plain http to " + service->origin +
                             "; STS needs https, because secrets are sent both ways");
  }
  HttpRequest request = Request(url + '/', deadline);
  request.method = HttpRequest::Method::kPost;
  request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"});
  request.body = std::move(form);
  if (by != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(
        request, SignRequest(std::move(request), *by, {region, "sts"}, std::time(nullptr)));
  }
  const std::string what = "asking STS for the role " + role.arn;
  const auto response = Send(*Transport(true, milliseconds(5000), 3), std::move(request));
  if (!response) return Forward(response.error(), what);
  const std::string_view body = AsText(response->body);
  if (response->status == 200) {
    auto found = ParseStsAnswer(body);
    if (!found) return Forward(std::move(found).error(), what);
    return found;
  }
  const auto failure = ParseS3Failure(body);
  return CredentialsDenied(what + " failed: HTTP " + std::to_string(response->status) +
                           (failure ? ' ' + failure->code + ": " + failure->message : ""));
}

// kUnavailable, naming `what`, for every status but 200.
Result<std::string> AskFor(HttpTransport& transport, HttpRequest request, const std::string& what) {
  const auto response = Send(transport, std::move(request));
  if (!response) return Forward(response.error(), "credentials for S3: " + what);
  if (response->status != 200 || response->body_too_large) {
    return Fail(ErrorCode::kUnavailable, "credentials for S3: ", what, " answers HTTP ",
                response->status);
  }
  return std::string(AsText(response->body));
}

Found Parsed(const Result<std::string>& text, const std::string& what) {
  if (!text) return tl::unexpected<Error>(text.error());
  auto found = ParseCredentialsDocument(*text);
  if (!found) return Forward(std::move(found).error(), "credentials for S3: " + what);
  return *std::move(found);
}

}  // namespace

Result<ExpiringCredentials> AssumeRole(const AwsRole& role, const AwsCredentials& by,
                                       const std::string& region, const Environment& environment,
                                       const Deadline& deadline) {
  return AskForRole("Action=AssumeRole", role, &by, region, environment, deadline);
}

Result<ExpiringCredentials> AssumeRoleWithToken(const AwsRole& role, const std::string& token_file,
                                                const std::string& region,
                                                const Environment& environment,
                                                const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto token, ReadTextFile(token_file));
  if (!token)
    return CredentialsDenied("the file of the web identity, " + token_file + ", is missing");
  return AskForRole(
      "Action=AssumeRoleWithWebIdentity&WebIdentityToken=" + EscapeQueryValue(Trimmed(*token)),
      role, nullptr, region, environment, deadline);
}

Found OfContainer(const Environment& environment, const Deadline& deadline) {
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  const auto url = ParseHttpUrl(relative.empty() ? full : std::string(kContainerHost) + relative);
  if (!url)
    return CredentialsDenied("the URI of the container's credentials is not an http or https URL");
  const bool of_aws = std::find(kContainerHosts.begin(), kContainerHosts.end(), url->origin) !=
                      kContainerHosts.end();
  if (!url->is_https() && !of_aws && !IsLoopback(*url)) {
    return CredentialsDenied("the URI of the container's credentials is plain http to " +
                             url->origin);
  }
  HttpRequest request = Request(url->Request(), deadline);
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto text, ReadTextFile(file));
    if (!text)
      return CredentialsDenied("the file of the container's token, " + file + ", is missing");
    token = Trimmed(*text);
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    return CredentialsDenied("the container's token has more than one line");
  }
  if (!token.empty()) request.headers.push_back({"Authorization", token});
  const std::string what = "the service of the container";
  const auto transport = Transport(false, milliseconds(2000), 3);
  return Parsed(AskFor(*transport, std::move(request), what), what);
}

Found OfMachine(const Environment& environment, const Deadline& deadline) {
  if (IsOn(environment("AWS_EC2_METADATA_DISABLED"))) return std::nullopt;
  std::string base = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  const auto transport = Transport(false, kMachineTimeout, kMachineTries);
  HttpRequest request = Request(base + "/latest/api/token", deadline);
  request.method = HttpRequest::Method::kPut;
  request.headers.push_back({"X-aws-ec2-metadata-token-ttl-seconds", "300"});
  request.deadline.at = std::min(
      deadline.at, std::chrono::steady_clock::now() + (kMachineTries + 1) * kMachineTimeout);
  const auto token = Send(*transport, std::move(request));
  if (!token || token->status != 200 || token->body_too_large) return std::nullopt;
  const HttpHeader field{"X-aws-ec2-metadata-token", std::string(Trimmed(AsText(token->body)))};
  if (field.value.find_first_of("\r\n") != std::string::npos) return std::nullopt;

  const std::string roles = base + "/latest/meta-data/iam/security-credentials/";
  request = Request(roles, deadline);
  request.headers.push_back(field);
  const auto listed = Send(*transport, std::move(request));
  if (listed && listed->status == 404) return std::nullopt;
  if (!listed || listed->status != 200) {
    return Fail(ErrorCode::kUnavailable,
                "credentials for S3: the metadata service of this machine does not name its role");
  }
  const std::string_view names = Trimmed(AsText(listed->body));
  if (names.empty()) return std::nullopt;
  request = Request(roles + EscapeKey(names.substr(0, names.find('\n'))), deadline);
  request.headers.push_back(field);
  const std::string what = "the metadata service of this machine";
  return Parsed(AskFor(*transport, std::move(request), what), what);
}

}  // namespace unshard
