#include "store/s3/endpoint.h"

#include <algorithm>

#include "codec/core/lower_case.h"

namespace unshard {
namespace {

constexpr std::string_view kScheme = "s3://";

tl::unexpected<Error> Invalid(const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, what);
}

bool IsByteOf(char byte, std::string_view bytes) {
  return bytes.find(byte) != std::string_view::npos;
}

bool IsLetterOrDigit(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

// Such as AWS has ever allowed.
bool IsBucketName(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && IsLetterOrDigit(name.front()) &&
         name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [](char byte) { return IsLetterOrDigit(byte) || IsByteOf(byte, ".-_"); });
}

// One label of a host name.
bool IsHostLabel(std::string_view name) {
  return name.size() <= 63 && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), [](char byte) {
           return (IsLetterOrDigit(byte) && !(byte >= 'A' && byte <= 'Z')) || byte == '-';
         });
}

bool IsRegion(std::string_view region) {
  return !region.empty() && region.size() <= 63 &&
         std::all_of(region.begin(), region.end(),
                     [](char byte) { return IsLetterOrDigit(byte) || IsByteOf(byte, "-_"); });
}

std::string FirstOf(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return "";
}

}  // namespace

Result<S3Url> ParseS3Url(std::string_view url) {
  if (LowerCase(std::string(url.substr(0, kScheme.size()))) != kScheme) {
    return Invalid("expected a URL of the form s3://bucket/key");
  }
  std::string_view rest = url.substr(kScheme.size());
  if (rest.find_first_of("?#") != rest.npos ||
      rest.substr(0, rest.find('/')).find('@') != rest.npos) {
    // Not the URL itself: it may hold a secret.
    return Invalid(
        "a URL of the form s3://bucket/key cannot have a query, a fragment or user information; "
        "credentials come from the environment and ~/.aws");
  }
  S3Url parsed;
  parsed.bucket = std::string(rest.substr(0, rest.find('/')));
  if (!IsBucketName(parsed.bucket)) {
    return Invalid(std::string(url) + ": '" + parsed.bucket +
                   "' is not the name of a bucket; "
                   "expected s3://bucket/key");
  }
  rest.remove_prefix(std::min(parsed.bucket.size() + 1, rest.size()));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  while (rest.starts_with('/')) rest.remove_prefix(1);
  parsed.prefix = std::string(rest);
  return parsed;
}

S3Settings ReadS3Settings(const Environment& environment, const AwsProfile& profile) {
  S3Settings settings;
  const bool ignores = IsOn(FirstOf({environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"),
                                     SettingOf(profile, "ignore_configured_endpoint_urls")}));
  if (!ignores) {
    settings.endpoint_url =
        FirstOf({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"),
                 SettingOf(profile, "s3.endpoint_url"), SettingOf(profile, "endpoint_url")});
  }
  settings.region = FirstOf(
      {environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), SettingOf(profile, "region")});
  settings.virtual_host = SettingOf(profile, "s3.addressing_style") == "virtual";
  settings.anonymous = IsOn(environment("AWS_NO_SIGN_REQUEST"));
  settings.requester_pays = LowerCase(environment("AWS_REQUEST_PAYER")) == "requester";
  return settings;
}

Result<S3Endpoint> MakeS3Endpoint(const std::string& bucket, const S3Settings& settings) {
  S3Endpoint endpoint;
  endpoint.region = settings.region.empty() ? "us-east-1" : settings.region;
  if (!IsRegion(endpoint.region)) return Invalid("'" + endpoint.region + "' is not a region of S3");
  endpoint.of_aws = settings.endpoint_url.empty();
  const std::string url = endpoint.of_aws ? "https://s3." + endpoint.region + ".amazonaws.com" +
                                                (endpoint.region.starts_with("cn-") ? ".cn" : "")
                                          : settings.endpoint_url;
  auto service = ParseHttpUrl(url);
  if (!service || !service->query.empty() || !service->user_info.empty()) {
    return Invalid(
        "the endpoint of S3 (endpoint=, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, endpoint_url of the "
        "profile) is not a URL of the form https://host[:port]");
  }
  endpoint.bucket = *std::move(service);
  while (endpoint.bucket.path.ends_with('/')) endpoint.bucket.path.pop_back();
  std::string& origin = endpoint.bucket.origin;
  if (!endpoint.bucket.is_https() && !settings.allow_http && !IsLoopback(endpoint.bucket)) {
    return Invalid(origin + ": plain http to another host needs the mount option allow_http");
  }
  if ((endpoint.of_aws || settings.virtual_host) && IsHostLabel(bucket)) {
    origin.insert(origin.find("://") + 3, bucket + '.');
  } else {
    endpoint.bucket.path += '/' + EscapeKey(bucket);
  }
  return endpoint;
}

}  // namespace unshard
