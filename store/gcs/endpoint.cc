#include "store/gcs/endpoint.h"

#include <algorithm>

#include "store/object/key.h"
#include "store/object/object_store.h"

namespace unshard {
namespace {

constexpr std::string_view kScheme = "gs://";
constexpr std::size_t kLeastBucket = 3;
constexpr std::size_t kMostBucket = 222;

bool IsBucketLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// https://cloud.google.com/storage/docs/buckets#naming
bool IsBucketName(std::string_view name) {
  return name.size() >= kLeastBucket && name.size() <= kMostBucket &&
         IsBucketLetter(name.front()) && IsBucketLetter(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsBucketLetter(c) || c == '-' || c == '_' || c == '.'; });
}

std::string_view WithoutSlashesAtEnd(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

Result<HttpUrl> ParseEndpoint(const std::string& text, const char* variable) {
  auto url = ParseHttpUrl(text);
  if (!url || !url->query.empty() || !url->user_info.empty()) {
    return Fail(ErrorCode::kInvalidArgument, variable,
                ": expected a URL of the form https://host[:port]");
  }
  url->path = WithoutSlashesAtEnd(url->path);
  return url;
}

std::string BucketPath(const GcsEndpoint& endpoint, const GcsLocation& location) {
  return endpoint.base.path + "/storage/v1/b/" + EscapeQueryValue(location.bucket) + "/o";
}

}  // namespace

std::string GcsLocation::Describe(std::string_view key) const {
  return std::string(kScheme) + JoinPath(bucket, JoinPath(prefix, key));
}

Result<GcsLocation> ParseGcsUrl(std::string_view url) {
  const auto fail = [](const std::string& what) {
    return Fail(ErrorCode::kInvalidArgument, "expected a URL of the form gs://bucket/key, found ",
                what);
  };
  if (!url.starts_with(kScheme)) return fail("another scheme");
  url.remove_prefix(kScheme.size());
  if (url.find_first_of("?#@") != std::string_view::npos) return fail("'?', '#' or '@' in it");
  const std::size_t slash = std::min(url.find('/'), url.size());
  GcsLocation location;
  location.bucket = url.substr(0, slash);
  if (!IsBucketName(location.bucket)) {
    return fail("'" + location.bucket + "', which is not a bucket name");
  }
  if (slash < url.size()) location.prefix = WithoutSlashesAtEnd(url.substr(slash + 1));
  UNSHARD_RETURN_IF_ERROR(CheckKey(location.prefix));
  return location;
}

Result<GcsEndpoint> MakeGcsEndpoint(const std::string& emulator_host,
                                    const std::string& override_url) {
  GcsEndpoint endpoint;
  if (!emulator_host.empty()) {
    endpoint.is_emulator = true;
    const bool has_scheme = emulator_host.find("://") != std::string::npos;
    UNSHARD_ASSIGN_OR_RETURN(endpoint.base,
                             ParseEndpoint(has_scheme ? emulator_host : "http://" + emulator_host,
                                           "STORAGE_EMULATOR_HOST"));
    return endpoint;
  }
  constexpr const char* kOverride = "endpoint= or CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE";
  UNSHARD_ASSIGN_OR_RETURN(
      endpoint.base,
      ParseEndpoint(override_url.empty() ? std::string(GcsEndpoint::kService) : override_url,
                    kOverride));
  if (endpoint.base.is_https() || IsLoopback(endpoint.base)) return endpoint;
  return Fail(
      ErrorCode::kInvalidArgument, kOverride,
      ": plain http would show credentials to the network; use https, or a host on this machine");
}

HttpUrl GcsObjectsBase(const GcsEndpoint& endpoint, const GcsLocation& location) {
  HttpUrl base = endpoint.base;
  base.path = BucketPath(endpoint, location);
  if (!location.prefix.empty()) base.path += '/' + EscapeKey(location.prefix);
  return base;
}

HttpUrl GcsObjectUrl(const GcsEndpoint& endpoint, const GcsLocation& location,
                     std::string_view key) {
  HttpUrl url = endpoint.base;
  url.path =
      BucketPath(endpoint, location) + '/' + EscapeQueryValue(JoinPath(location.prefix, key));
  return url;
}

HttpUrl GcsUploadUrl(const GcsEndpoint& endpoint, const GcsLocation& location) {
  HttpUrl url = endpoint.base;
  url.path += "/upload/storage/v1/b/" + EscapeQueryValue(location.bucket) + "/o";
  return url;
}

std::string GcsListUrl(const GcsEndpoint& endpoint, const GcsLocation& location,
                       std::string_view directory, std::string_view page_token,
                       std::size_t max_results) {
  HttpUrl url = endpoint.base;
  url.path = BucketPath(endpoint, location);
  std::string below = JoinPath(location.prefix, directory);
  if (!below.empty()) below += '/';
  url.query = "delimiter=%2F&fields=prefixes,items(name),nextPageToken&maxResults=" +
              std::to_string(max_results) + "&prefix=" + EscapeQueryValue(below);
  if (!page_token.empty()) url.query += "&pageToken=" + EscapeQueryValue(page_token);
  return url.Request();
}

}  // namespace unshard
