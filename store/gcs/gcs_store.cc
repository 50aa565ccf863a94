#include "store/gcs/gcs_store.h"

#include <utility>

#include "store/gcs/authorization.h"
#include "store/gcs/endpoint.h"
#include "store/gcs/error_response.h"
#include "store/gcs/gcs_access.h"
#include "store/gcs/gcs_replacer.h"
#include "store/gcs/listing.h"
#include "store/gcs/object_requests.h"
#include "store/http/http_server.h"
#include "store/http/transport.h"
#include "store/object/awaited_result.h"
#include "store/object/bucket_objects.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMostPageBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostErrorBytes = std::uint64_t{64} << 10;

// Sends the requests for listings. Thread-safe.
class Lister {
 public:
  Lister(GcsEndpoint endpoint, GcsLocation location, std::shared_ptr<HttpTransport> transport)
      : endpoint_(std::move(endpoint)),
        location_(std::move(location)),
        transport_(std::move(transport)) {}

  Result<HttpResponse> Ask(std::string_view directory, const std::string& token, std::size_t names,
                           const Deadline& deadline) const {
    HttpRequest request;
    request.url = GcsListUrl(endpoint_, location_, directory, token, names);
    request.headers = {{"Accept-Encoding", "identity"}, {"User-Agent", "unshard"}};
    request.max_whole_body = kMostPageBytes;
    request.max_other_body = kMostErrorBytes;
    request.deadline = deadline;
    return Send(*transport_, std::move(request));
  }

  Result<ListedPage> Page(std::string_view directory, const std::string& token, std::size_t names,
                          const Deadline& deadline) const {
    auto page = ReadPage(directory, Ask(directory, token, names, deadline));
    if (!page) return Forward(std::move(page).error(), location_.Describe(directory) + ": listing");
    return page;
  }

  [[nodiscard]] const GcsLocation& location() const { return location_; }

 private:
  [[nodiscard]] Result<ListedPage> ReadPage(std::string_view directory,
                                            Result<HttpResponse> response) const {
    if (!response) return tl::unexpected<Error>(std::move(response).error());
    if (IsGcsDenial(*response)) return GcsDenial(*response);
    if (response->status != 200 || response->body_too_large) {
      return Fail(ErrorCode::kUnavailable, "the service answered HTTP ", response->status, ": ",
                  GcsErrorText(*response));
    }
    std::string below = JoinPath(location_.prefix, directory);
    if (!below.empty()) below += '/';
    return ParseGcsListPage(AsText(response->body), below);
  }

  const GcsEndpoint endpoint_;
  const GcsLocation location_;
  const std::shared_ptr<HttpTransport> transport_;
};

// Of a bucket that the caller may not list: nothing.
ListBucket ListingOf(Lister lister, GcsAccess access) {
  if (access == GcsAccess::kUnlisted) return nullptr;
  return [lister = std::move(lister)](std::string_view directory, const std::string& token,
                                      std::size_t names, const Deadline& deadline) {
    return lister.Page(directory, token, names, deadline);
  };
}

// Whether requests for `url` carry a token. One has been fetched, where there is a credential.
bool SendsToken(HttpAuthorization& authorization, const std::string& url) {
  const auto authorized = std::make_shared<AwaitedResult<HttpRequest>>();
  HttpRequest request;
  request.url = url;
  authorization.Authorize(std::move(request), AwaitedResult<HttpRequest>::Callback(authorized));
  const auto sent = authorized->Wait();
  return sent && FindHeader(sent->headers, "Authorization");
}

}  // namespace

Result<GcsStore> OpenGcsStore(const std::string& url, const GcsEnvironment& environment,
                              const GcsStoreOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const GcsLocation location, ParseGcsUrl(url));
  UNSHARD_ASSIGN_OR_RETURN(const GcsEndpoint endpoint,
                           MakeGcsEndpoint(environment.emulator_host, environment.endpoint));
  std::shared_ptr<HttpAuthorization> authorization;
  if (!endpoint.is_emulator && !options.anonymous) {
    authorization =
        MakeGcsAuthorization(endpoint, environment, location.bucket,
                             options.read_only ? GcsScope::kRead : GcsScope::kFullControl);
  }
  const auto transport = MakeHttpTransport(options.http, authorization);
  Lister lister(endpoint, location, transport);
  auto asked = lister.Ask("", "", 1, Deadline::None());
  if (!asked) return Forward(std::move(asked).error(), location.Describe(""));
  GcsStore store;
  store.anonymous = !endpoint.is_emulator &&
                    !(authorization && SendsToken(*authorization, endpoint.base.Request()));
  auto access = GcsAccess::kListed;
  if (IsGcsDenial(*asked) && !IsGcsRateLimit(*asked)) {
    access = GcsAccess::kUnlisted;
    store.listing_denied = GcsDenial(*asked).value().message;
  } else if (asked->status == 404) {
    return Fail(ErrorCode::kNotFound, location.Describe(""), ": there is no bucket of this name");
  } else if (asked->status != 200) {
    return Fail(ErrorCode::kUnavailable, location.Describe(""), ": the service answered HTTP ",
                asked->status, ": ", GcsErrorText(*asked));
  }
  HttpStoreOptions described = options.http;
  described.described_as = location.Describe("");
  auto server = std::make_shared<HttpServer>(GcsObjectsBase(endpoint, location), described,
                                             MakeObjectTransport(transport, access));
  store.objects = MakeBucketObjects(MakeHttpStore(server), ListingOf(std::move(lister), access));
  store.replacer = MakeGcsReplacer(std::make_shared<GcsObjectAccess>(GcsObjectAccess{
                                       endpoint, location, access, transport, std::move(server)}),
                                   store.objects, options.remote);
  return store;
}

}  // namespace unshard
