#include "store/s3/s3_store.h"

#include <cerrno>
#include <utility>

#include "store/http/http_server.h"
#include "store/http/transport.h"
#include "store/object/key.h"
#include "store/object/paged_listings.h"
#include "store/s3/answers.h"
#include "store/s3/credentials.h"
#include "store/s3/endpoint.h"
#include "store/s3/s3_access.h"
#include "store/s3/s3_authorization.h"
#include "store/s3/s3_replacer.h"

namespace unshard {
namespace {

constexpr std::size_t kKeptPages = 64;  // of 1000 names each

class S3Objects final : public ObjectStore {
 public:
  explicit S3Objects(std::shared_ptr<const S3Access> access)
      : access_(std::move(access)), files_(MakeHttpStore(access_->server)) {}

  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.keeps_replaced_versions = false;
    capabilities.writes = Capabilities::Writes::kConditional;
    return capabilities;
  }

  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override {
    auto file = files_->Stat(key, deadline);
    if (!file || *file || key.empty()) return file;
    UNSHARD_ASSIGN_OR_RETURN(const ListedPage page, AskForPage(key, "", 1, deadline));
    if (page.entries.empty() && page.next.empty()) return std::nullopt;
    ObjectInfo directory;
    directory.kind = ObjectInfo::Kind::kDirectory;
    return directory;
  }

  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override {
    return files_->Open(key, first, deadline);
  }
  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                 const ObjectInfo& known, const Deadline& deadline) override {
    return files_->OpenUnlessKnown(key, first, known, deadline);
  }

  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    return files_->Recall(key, info);
  }
  std::string Identity() const override { return files_->Identity(); }

  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override {
    return ListFrom(key, 0, deadline, visitor);
  }

  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override {
    UNSHARD_RETURN_IF_ERROR(CheckKey(key));
    const auto fetch = [&](const std::string& next, const Deadline& until) {
      return AskForPage(key, next, 1000, until);
    };
    return listings_.ListFrom(resume, fetch, deadline, visitor);
  }

  std::string Describe(std::string_view key) const override { return files_->Describe(key); }

 private:
  Result<ListedPage> AskForPage(std::string_view key, const std::string& next, int most,
                                const Deadline& deadline);

  const std::shared_ptr<const S3Access> access_;
  const std::shared_ptr<ObjectStore> files_;
  PagedListings listings_{kKeptPages};
};

Result<ListedPage> S3Objects::AskForPage(std::string_view key, const std::string& next, int most,
                                         const Deadline& deadline) {
  std::string prefix = JoinPath(access_->url.prefix, key);
  if (!prefix.empty()) prefix += '/';
  HttpUrl url = access_->bucket;
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
  const auto response = Send(*access_->transport, std::move(request));
  if (!response) return Forward(response.error(), Describe(key) + ": listing it");
  if (response->status != 200 || response->body_too_large) {
    return FailWith(EPROTO, ErrorCode::kUnavailable,
                    Describe(key) + ": listing it: the service answered HTTP " +
                        std::to_string(response->status) +
                        (response->body_too_large ? " with too many bytes" : ""));
  }
  auto page = ParseS3Page(AsText(response->body), prefix);
  if (!page) return Forward(std::move(page).error(), Describe(key) + ": listing it");
  return page;
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
    return Fail(ErrorCode::kInvalidArgument,
                "the profile '" + name + "' (AWS_PROFILE) is in neither file of AWS's settings");
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
  access->server = std::make_shared<HttpServer>(BaseOf(*access), http, access->transport);
  S3Store store;
  store.objects = std::make_shared<S3Objects>(access);
  store.replacer = MakeS3Replacer(access, store.objects, options.remote);
  return store;
}

}  // namespace unshard
