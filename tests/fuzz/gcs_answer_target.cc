// Arbitrary bytes as what Google Cloud Storage, token servers and credential files say: what is
// accepted keeps its promises.
#include <algorithm>
#include <set>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "store/gcs/credentials.h"
#include "store/gcs/endpoint.h"
#include "store/gcs/error_response.h"
#include "store/gcs/listing.h"
#include "store/gcs/object_resource.h"
#include "store/object/object_store.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

bool IsPlain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

void CheckListing(std::string_view text, std::string_view below) {
  const auto page = ParseGcsListPage(text, below);
  if (!page) return;
  std::set<std::string> names;
  for (const auto& entry : page->entries) {
    Require(!entry.name.empty() && entry.name.find('/') == std::string::npos &&
                CheckKey(entry.name).has_value(),
            "names are components of keys");
    Require(names.insert(entry.name).second, "names are there once");
  }
}

void CheckObject(std::string_view text) {
  const auto object = ParseGcsObject(text);
  if (!object) return Require(IsPlain(object.error().message), "messages are one line");
  Require(!object->validator.empty() &&
              object->validator.find_first_not_of("0123456789") == std::string::npos,
          "generations are numbers");
  NewObject next;
  next.key = "key";
  next.kept = object->kept;
  next.attempts = {"0123456789abcdef"};
  Require(IsPlain(GcsContentType(next)), "media types are values of a field");
  const auto resource = ParseJson(MakeGcsResource(next, "AAAAAA=="));
  Require(resource && resource->is_object(), "what is kept makes a resource");
  const JsonValue* const metadata = resource->Find("metadata");
  Require(metadata != nullptr && TextOf(*metadata, "unshard-attempts") == "0123456789abcdef",
          "a version is marked with its attempt");
}

void CheckCredential(std::string_view text) {
  const auto credential = ParseGcsCredential(text);
  if (!credential) return Require(IsPlain(credential.error().message), "messages are one line");
  const auto request = MakeTokenRequest(*credential, 1);
  if (!request) return;
  const auto url = ParseHttpUrl(request->url);
  Require(url && (url->is_https() || IsLoopback(*url)), "secrets are sent over https only");
  Require(IsPlain(request->body), "forms are one line");
  Require(IsPlain(DescribeGcsCredential(*credential)), "descriptions are one line");
}

}  // namespace

void FuzzGcsAnswer(ByteSpan input) {
  const std::string_view text = AsText(input);
  CheckListing(text, "");
  CheckListing(text, "a/b/");
  CheckCredential(text);
  CheckObject(text);
  if (const auto location = ParseGcsUrl(text)) {
    Require(CheckKey(location->prefix).has_value(), "prefixes are keys");
  }
  HttpResponse response;
  response.body.assign(input.begin(), input.end());
  for (const int status : {200, 400, 403}) {
    response.status = status;
    if (const auto token = ParseTokenResponse(response)) {
      Require(!token->value.empty() && IsPlain(token->value), "tokens are values of a field");
      Require(token->lifetime.count() > 0, "tokens live");
    } else {
      Require(IsPlain(token.error().message), "messages are one line");
    }
    Require(IsPlain(GcsErrorText(response)), "messages are one line");
    (void)IsGcsRateLimit(response);
  }
}

}  // namespace unshard
