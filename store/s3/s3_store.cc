#include "store/s3/s3_store.h"

#include <cerrno>
#include <utility>

#include "store/http/http_server.h"
#include "store/http/transport.h"
#include "store/object/bucket_objects.h"
#include "store/object/key.h"
#include "store/s3/answers.h"
#include "store/s3/credentials.h"
#include "store/s3/endpoint.h"
#include "store/s3/s3_access.h"
#include "store/s3/s3_authorization.h"
#include "store/s3/s3_replacer.h"

namespace unshard {
namespace {

// Of the keys below a directory.
std::string PrefixOf(const S3Access& access, std::string_view directory) {
  std::string prefix = JoinPath(access.url.prefix, directory);
  if (!prefix.empty()) prefix += '/';
  return prefix;
}

Result<HttpResponse> AskForPage(const S3Access& access, const std::string& prefix,
                                const std::string& next, std::size_t most,
                                const Deadline& deadline) {
  HttpUrl url = access.bucket;
  if (url.path.empty()) url.path = "/";
  if (!next.empty()) url.query = "continuation-token=" + EscapeQueryValue(next) + '&';
  url.query += "delimiter=%2F&encoding-type=url&list-type=2&max-keys=" + std::to_string(most) +
               "&prefix=" + EscapeQueryValue(prefix);
  HttpRequest request;
  request.url = url.Request();
  request.headers = {{"Accept-Encoding", "identity"}, {"User-Agent", "unshard"}};
  request.max_whole_body = kMaxS3Answer;
  request.max_other_body = std::uint64_t{64} << 10;
  request.deadline = deadline;
  return Send(*access.transport, std::move(request));
}

Result<ListedPage> ListS3(const S3Access& access, std::string_view directory,
                          const std::string& next, std::size_t most, const Deadline& deadline) {
  const std::string described = access.server->Describe(directory) + ": listing it";
  const std::string prefix = PrefixOf(access, directory);
  const auto response = AskForPage(access, prefix, next, most, deadline);
  if (!response) return Forward(response.error(), described);
  if (response->status != 200 || response->body_too_large) {
    return FailWith(EPROTO, ErrorCode::kUnavailable, described, ": the service answered HTTP ",
                    response->status, response->body_too_large ? " with too many bytes" : "");
  }
  auto page = ParseS3Page(AsText(response->body), prefix);
  if (!page) return Forward(std::move(page).error(), described);
  return page;
}

// What the service says where it denies to list the bucket; "" where it does not.
Result<std::string> DenialOfListing(const S3Access& access) {
  S3Authorization& authorization = *access.authorization;
  authorization.PassDenials(true);
  const auto response = AskForPage(access, PrefixOf(access, ""), "", 1, Deadline::None());
  const bool denied = response && IsS3Denial(*response);
  authorization.PassDenials(denied);
  if (denied) return authorization.Explain(*response).message;
  // A service that has no listings may still be read.
  if (response || response.error().code == ErrorCode::kNotSupported) return std::string();
  return Forward(response.error(), access.server->Describe(""));
}

// Of the objects: the prefix is part of the path.
HttpUrl BaseOf(const S3Access& access) {
  HttpUrl base = access.bucket;
  if (!access.url.prefix.empty()) base.path += '/' + EscapeKey(access.url.prefix);
  return base;
}

}  // namespace

Result<S3Store> OpenS3Store(const std::string& url, const S3Options& options) {
  UNSHARD_ASSIGN_OR_RETURN(S3Url parsed, ParseS3Url(url));
  UNSHARD_RETURN_IF_ERROR(CheckKey(parsed.prefix));
  UNSHARD_ASSIGN_OR_RETURN(const AwsProfiles profiles, ReadProfiles(options.environment));
  const std::string name = ProfileName(options.environment);
  const auto profile = profiles.find(name);
  if (profile == profiles.end() && !options.environment("AWS_PROFILE").empty()) {
    const AwsFiles files = AwsFilesOf(options.environment);
    return Fail(ErrorCode::kInvalidArgument, "the profile '", name,
                "' (profile=, AWS_PROFILE) is neither in ", files.credentials, " nor in ",
                files.config);
  }
  S3Settings settings = ReadS3Settings(options.environment,
                                       profile == profiles.end() ? AwsProfile() : profile->second);
  settings.anonymous = settings.anonymous || options.anonymous;
  settings.allow_http = options.http.allow_http;
  UNSHARD_ASSIGN_OR_RETURN(S3Endpoint endpoint, MakeS3Endpoint(parsed.bucket, settings));
  const CredentialsPlace place{options.environment, parsed.bucket, endpoint.region};
  auto access = std::make_shared<S3Access>();
  access->bucket = endpoint.bucket;
  access->authorization = std::make_shared<S3Authorization>(
      parsed.bucket, settings, std::move(endpoint),
      settings.anonymous ? nullptr : MakeRenewedCredentials(place));
  access->url = std::move(parsed);
  access->transport = MakeHttpTransport(options.http, access->authorization);
  HttpStoreOptions http = options.http;
  http.described_as = JoinPath("s3://" + access->url.bucket, access->url.prefix);
  http.denied_is_missing = IsS3Denial;  // of those that the authorization passes
  access->server = std::make_shared<HttpServer>(BaseOf(*access), http, access->transport);
  S3Store store;
  store.anonymous = settings.anonymous;
  if (options.asks_for_listing) {
    UNSHARD_ASSIGN_OR_RETURN(store.listing_denied, DenialOfListing(*access));
  }
  access->denies_listing = !store.listing_denied.empty();
  ListBucket list;
  if (!access->denies_listing) {
    list = [access](std::string_view directory, const std::string& next, std::size_t most,
                    const Deadline& deadline) {
      return ListS3(*access, directory, next, most, deadline);
    };
  }
  store.objects = MakeBucketObjects(MakeHttpStore(access->server), std::move(list));
  store.replacer = MakeS3Replacer(access, store.objects, options.remote);
  return store;
}

}  // namespace unshard
