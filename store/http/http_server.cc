#include "store/http/http_server.h"

#include <algorithm>
#include <utility>

#include "codec/core/bytes.h"
#include "codec/types/base64.h"
#include "store/object/awaited_result.h"
#include "store/object/catch_exceptions.h"

namespace unshard {
namespace {

// The bodies of error pages are read to their end, so that their connections can be kept.
constexpr std::uint64_t kMaxErrorPage = std::uint64_t{64} << 10;
// The most bytes of a whole object that are taken in place of a range of it, where the range has
// fewer. Larger objects are asked for once more, together (StartWhole).
constexpr std::uint64_t kMostInPlaceOfRange = std::uint64_t{256} << 10;

HttpUrl WithoutUserInfo(HttpUrl url) {
  url.user_info.clear();
  while (url.path.ends_with('/')) url.path.pop_back();
  return url;
}

}  // namespace

HttpServer::HttpServer(HttpUrl base, const HttpStoreOptions& options,
                       std::shared_ptr<HttpTransport> transport)
    : base_(WithoutUserInfo(base)),
      options_(options),
      transport_(std::move(transport)),
      authorization_(base.user_info.empty() ? ""
                                            : "Basic " + EncodeBase64(AsBytes(base.user_info))),
      whole_objects_(options.whole_objects_cached_bytes),
      whole_fetches_(std::make_shared<WholeFetches>(options.whole_objects_cached_bytes)) {}

HttpRequest HttpServer::MakeRequest(std::string_view key, const std::optional<AskedRange>& range,
                                    const Deadline& deadline) const {
  HttpRequest request;
  HttpUrl url = base_;
  url.path += '/' + EscapeKey(key);
  request.url = url.Request();
  // A server that compresses as it sends would ignore the range.
  request.headers = {{"Accept-Encoding", "identity"}, {"User-Agent", "unshard"}};
  if (!authorization_.empty()) request.headers.push_back({"Authorization", authorization_});
  if (range) request.headers.push_back({"Range", RangeField(*range)});
  request.max_whole_body =
      range ? std::min(options_.whole_object_bytes, std::max(range->size, kMostInPlaceOfRange))
            : options_.whole_object_bytes;
  request.max_other_body = std::max(range ? range->size : 0, kMaxErrorPage);
  request.deadline = deadline;
  return request;
}

void HttpServer::Start(HttpRequest request, const std::optional<AskedRange>& range, Done done) {
  transport_->Start(std::move(request),
                    [self = shared_from_this(), asked = range.value_or(AskedRange{}),
                     done = std::move(done)](Result<HttpResponse> response) {
                      if (!response)
                        return done(tl::unexpected<Error>(std::move(response).error()));
                      const auto read = [self, asked, done](HttpResponse& answer) {
                        done(CatchExceptions([&] { return self->Read(std::move(answer), asked); }));
                      };
                      const bool whole = response->status == 200 && !response->body_too_large;
                      if (!whole) return read(*response);
                      const auto held = std::make_shared<HttpResponse>(*std::move(response));
                      self->reading_.Add([read, held] { read(*held); });
                    });
}

Result<HttpAnswer> HttpServer::Ask(HttpRequest request,
                                   const std::optional<AskedRange>& range) const {
  UNSHARD_ASSIGN_OR_RETURN(HttpResponse response, Send(*transport_, std::move(request)));
  return Read(std::move(response), range.value_or(AskedRange{}));
}

void HttpServer::FetchWhole(const std::string& key, std::uint64_t bytes, WholeFetches::Done done) {
  const std::uint64_t most = options_.whole_object_bytes;
  const auto self = shared_from_this();
  whole_fetches_->Fetch(
      key, bytes == 0 ? most : std::min(bytes, most),
      [self, key](HttpTransport::Done fetched) {
        const auto now = std::chrono::steady_clock::now();
        const Deadline deadline{now + self->options_.request_timeout, {}};
        self->transport_->Start(self->MakeRequest(key, std::nullopt, deadline), std::move(fetched));
      },
      [self](HttpResponse response) { return self->Read(std::move(response), AskedRange{}); },
      std::move(done));
}

void HttpServer::StartWhole(const std::string& key, std::uint64_t bytes, Done done) {
  FetchWhole(key, bytes,
             [self = shared_from_this(),
              done = std::move(done)](const std::shared_ptr<WholeFetch>& fetch) {
               self->reading_.Add([fetch, done] { done(fetch->Answer()); });
             });
}

Result<HttpAnswer> HttpServer::AskWhole(const std::string& key, std::uint64_t bytes,
                                        const Deadline& deadline) {
  const auto outcome = std::make_shared<AwaitedResult<std::shared_ptr<WholeFetch>>>();
  FetchWhole(key, bytes, AwaitedResult<std::shared_ptr<WholeFetch>>::Callback(outcome));
  UNSHARD_ASSIGN_OR_RETURN(const auto fetch, outcome->Wait(deadline, "waiting for the server"));
  return fetch->Answer();
}

bool HttpServer::StandsForMissing(const HttpResponse& response) const {
  if (response.status != 403) return false;
  if (options_.denied_is_missing) return options_.denied_is_missing(response);
  // Credentials may expire: what they no longer open is not missing.
  return has_read_ && base_.query.empty() && authorization_.empty() &&
         AsText(response.body).find("<Code>AccessDenied</Code>") != std::string_view::npos;
}

Result<HttpAnswer> HttpServer::Read(HttpResponse response, const AskedRange& asked) const {
  if (StandsForMissing(response)) return HttpAnswer{HttpAnswer::Kind::kMissing};
  if (response.status == 200 || response.status == 206) has_read_ = true;
  return ReadAnswer(std::move(response), asked, options_.whole_object_bytes);
}

std::string HttpServer::Describe(std::string_view key) const {
  const std::string base =
      options_.described_as.empty() ? base_.Described() : options_.described_as;
  return key.empty() ? base : base + '/' + std::string(key);
}

}  // namespace unshard
