// Arbitrary bytes as the head of an HTTP answer: what is accepted keeps its promises.
#include <algorithm>

#include "store/http/http_answer.h"
#include "store/http/redirects.h"
#include "store/http/response.h"
#include "store/http/url.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

HttpResponse ParseHead(std::string_view text) {
  HttpResponse response;
  constexpr int kStatuses[] = {200, 206, 301, 302, 304, 403, 404, 412, 416, 500};
  if (!text.empty()) {
    response.status = kStatuses[static_cast<unsigned char>(text[0]) % std::size(kStatuses)];
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (auto header = ParseHeaderLine(text.substr(0, end))) {
      response.headers.push_back(*std::move(header));
    }
    text.remove_prefix(end);
  }
  return response;
}

void CheckFields(const HttpHeaders& headers) {
  for (const HttpHeader& header : headers) {
    const auto range = ParseContentRange(header.value);
    if (range && range->range && range->total) {
      Require(range->range->end() <= *range->total, "ranges lie within their total");
    }
    if (const auto tag = ParseEntityTag(header.value)) {
      Require(tag->quoted.find_first_of("\r\n \t") == std::string::npos, "tags are one word");
      const auto again = ParseEntityTag(tag->quoted);
      Require(again && !again->weak && again->quoted == tag->quoted, "tags are sent as they came");
    }
    (void)ParseHttpDate(header.value);
    (void)ParseRetryAfter(header.value, 0);
  }
}

void CheckRedirect(const HttpResponse& response) {
  HttpRequest request;
  request.url = "https://host/a/b?query";
  request.headers = {{"Authorization", "secret"}};
  const auto next = Redirect(request, response, 1);
  if (!next) return;
  const auto url = ParseHttpUrl(next->url);
  Require(url && url->is_https(), "redirects never leave https");
  Require(url->origin == "https://host" || next->headers.empty(), "secrets stay with their origin");
}

void CheckAnswer(const HttpResponse& response, const AskedRange& asked, std::size_t body) {
  HttpResponse with_body = response;
  with_body.body.resize(body);
  const auto answer = ReadAnswer(std::move(with_body), asked, 1 << 16);
  if (!answer || answer->kind != HttpAnswer::Kind::kPart) return;
  const HttpObject& object = *answer->object;
  Require(object.range.end() <= object.info.size, "parts lie within their object");
  Require(object.range.size == object.bytes.size(), "parts have all their bytes");
  Require(object.range.size <= asked.size, "parts are no larger than asked for");
}

}  // namespace

void FuzzHttpResponse(ByteSpan input) {
  const HttpResponse response = ParseHead(AsText(input));
  CheckFields(response.headers);
  CheckRedirect(response);
  for (const std::size_t body : {std::size_t{0}, std::size_t{1}, std::size_t{10}}) {
    CheckAnswer(response, {0, body}, body);
    CheckAnswer(response, {0, body, true}, body);
    CheckAnswer(response, {90, 100}, body);
  }
}

}  // namespace unshard
