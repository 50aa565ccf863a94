// Arbitrary bytes as what S3, STS, a process and the user's files say: what is accepted keeps its
// promises.
#include <algorithm>

#include "store/http/response.h"
#include "store/remote/attempt_ids.h"
#include "store/s3/answers.h"
#include "store/s3/credential_process.h"
#include "store/s3/endpoint.h"
#include "store/s3/profiles.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

void CheckPage(std::string_view text, std::string_view prefix) {
  const auto page = ParseS3Page(text, prefix);
  if (!page) return;
  for (const ListedPage::Entry& entry : page->entries) {
    Require(!entry.name.empty() && entry.name != "." && entry.name != "..", "names are names");
    Require(entry.name.size() <= 255, "names are no longer than a file system takes");
    Require(entry.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos,
            "names have one component");
  }
}

void CheckCredentials(const Result<ExpiringCredentials>& found) {
  if (!found) return;
  for (const std::string& text :
       {found->credentials.access_key_id, found->credentials.session_token}) {
    Require(text.find_first_of("\r\n \t") == std::string::npos, "what is sent ends no field");
  }
  Require(!found->credentials.secret_access_key.empty(), "there is a secret");
}

bool IsFieldText(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool IsHeaderText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

void CheckUploads(std::string_view text) {
  if (const auto id = ParseS3UploadId(text)) Require(IsFieldText(*id), "ids of uploads are text");
  if (const auto tag = ParseS3ETag(text)) {
    Require(IsFieldText(*tag) && ParseEntityTag(*tag), "tags of objects are strong ETags");
  }
  if (const std::string tags = ParseS3Tags(text); !tags.empty()) {
    Require(IsFieldText(tags), "tags are the value of a field");
  }
  for (const HttpHeader& grant : ParseS3Grants(text).value_or(HttpHeaders())) {
    Require(grant.name.starts_with("x-amz-grant-") && IsHeaderText(grant.value),
            "grants are the values of fields");
  }
  const auto ids = ParseAttemptIds(text);
  Require(ids.size() <= kMostAttemptIds, "no more ids than are kept");
  Require(ParseAttemptIds(FormatAttemptIds(ids)) == ids, "ids are read as they are written");
}

void CheckUrl(std::string_view text) {
  const auto url = ParseS3Url(text);
  if (!url) return;
  const auto endpoint = MakeS3Endpoint(url->bucket, S3Settings{});
  Require(endpoint.has_value(), "every bucket has an endpoint");
  const auto sent = ParseHttpUrl(endpoint->bucket.Described());
  Require(sent && sent->is_https() &&
              sent->origin.ends_with(".s3.us-east-1.amazonaws.com") !=
                  sent->origin.ends_with("//s3.us-east-1.amazonaws.com"),
          "no bucket's name leads to another host");
}

}  // namespace

void FuzzS3Answers(ByteSpan input) {
  const std::string_view text = AsText(input);
  CheckPage(text, "");
  CheckPage(text, "a/");
  if (const auto failure = ParseS3Failure(text)) {
    Require(!failure->code.empty() && failure->code.size() <= 100, "codes are short");
    Require(failure->message.find('\n') == std::string::npos, "messages are one line");
  }
  CheckCredentials(ParseStsAnswer(text));
  CheckCredentials(ParseCredentialsDocument(text));
  for (const auto& [name, profile] : ParseConfigFile(text)) {
    Require(!name.empty(), "profiles have names");
  }
  CheckUploads(text);
  (void)ParseCredentialsFile(text);
  (void)WordsOf(text);
  CheckUrl(text);
  CheckUrl("s3://" + std::string(text));
}

}  // namespace unshard
