#include "store/s3/answers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "store/http/iso_time.h"
#include "store/http/url.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxMessage = 300;
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxUploadId = 4096;
// S3 has at most a hundred grants an object, and header fields have their limit too.
constexpr std::size_t kMostGrants = 100;
constexpr std::size_t kMostGrantText = 8192;

tl::unexpected<Error> BadAnswer(const std::string& what) {
  return FailWith(EPROTO, ErrorCode::kUnavailable, "the answer of the service is not a valid ",
                  what);
}

// pugixml knows no document types and no entities of their own: neither bombs nor files.
bool Parse(std::string_view body, pugi::xml_document& document) {
  if (body.size() > kMaxS3Answer) return false;
  return static_cast<bool>(document.load_buffer(body.data(), body.size(),
                                                pugi::parse_default | pugi::parse_ws_pcdata_single,
                                                pugi::encoding_utf8));
}

// Servers choose whether names have a prefix ("s3:Error").
std::string_view LocalName(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  return name.substr(name.find(':') + 1);
}

pugi::xml_node Child(const pugi::xml_node& node, std::string_view name) {
  return node.find_child([&](const pugi::xml_node& each) { return LocalName(each) == name; });
}

std::string ChildText(const pugi::xml_node& node, std::string_view name) {
  return Child(node, name).child_value();
}

bool IsCode(std::string_view code) {
  return !code.empty() && code.size() <= 100 && std::all_of(code.begin(), code.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

// As encoding-type=url encodes: '+' is a space.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escapes = text[at] == '%' && at + 2 < text.size();
    const auto byte = escapes ? ParseNumber<unsigned char>(text.substr(at + 1, 2), 16)
                              : std::optional<unsigned char>();
    if (byte) {
      plain += static_cast<char>(*byte);
      at += 2;
    } else {
      plain += text[at] == '+' ? ' ' : text[at];
    }
  }
  return plain;
}

bool IsName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kMaxName &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

std::optional<std::string> TextMember(const JsonValue& object, std::string_view name) {
  const JsonValue* const member = object.Find(name);
  if (member == nullptr || !member->is_string() || member->text().empty()) return std::nullopt;
  return member->text();
}

// What goes into a header field must not end it.
bool IsFieldText(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

constexpr const char* kFullControl = "x-amz-grant-full-control";

// "" for what objects are not granted.
std::string GrantField(std::string_view permission) {
  if (permission == "FULL_CONTROL") return kFullControl;
  if (permission == "READ") return "x-amz-grant-read";
  if (permission == "READ_ACP") return "x-amz-grant-read-acp";
  if (permission == "WRITE_ACP") return "x-amz-grant-write-acp";
  return {};
}

// "uri=\"http://…\"", as fields of grants have it.
std::optional<std::string> GranteeText(const pugi::xml_node& grantee) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kKinds = {
      {{"ID", "id"}, {"URI", "uri"}, {"EmailAddress", "emailAddress"}}};
  for (const auto& [element, kind] : kKinds) {
    const std::string text = ChildText(grantee, element);
    if (text.empty()) continue;
    if (!IsFieldText(text) || text.find_first_of("\",") != std::string::npos) return std::nullopt;
    return std::string(kind) + "=\"" + text + '"';
  }
  return std::nullopt;
}

Result<ExpiringCredentials> Checked(ExpiringCredentials found, const std::string& expires,
                                    const std::string& what) {
  const AwsCredentials& credentials = found.credentials;
  if (!IsFieldText(credentials.access_key_id) || credentials.secret_access_key.empty() ||
      (!credentials.session_token.empty() && !IsFieldText(credentials.session_token))) {
    return BadAnswer(what);
  }
  if (expires.empty()) return found;
  found.expires = ParseIsoTime(expires);
  if (!found.expires) return BadAnswer(what);
  return found;
}

}  // namespace

std::optional<S3Failure> ParseS3Failure(std::string_view body) {
  pugi::xml_document document;
  if (!Parse(body, document)) return std::nullopt;
  pugi::xml_node root = document.document_element();
  if (LocalName(root) == "ErrorResponse") root = Child(root, "Error");  // of STS
  if (LocalName(root) != "Error") return std::nullopt;
  S3Failure failure;
  failure.code = ChildText(root, "Code");
  if (!IsCode(failure.code)) return std::nullopt;
  failure.message = Printable(ChildText(root, "Message").substr(0, kMaxMessage));
  failure.region = ChildText(root, "Region");
  if (!IsCode(failure.region)) failure.region.clear();
  return failure;
}

Result<ListedPage> ParseS3Page(std::string_view body, std::string_view prefix) {
  pugi::xml_document document;
  if (!Parse(body, document)) return BadAnswer("listing");
  const pugi::xml_node root = document.document_element();
  if (LocalName(root) != "ListBucketResult") return BadAnswer("listing");
  const bool escaped = ChildText(root, "EncodingType") == "url";
  ListedPage page;
  std::set<std::string, std::less<>> files;
  std::vector<std::string> directories;
  for (const pugi::xml_node& node : root.children()) {
    const bool is_directory = LocalName(node) == "CommonPrefixes";
    if (!is_directory && LocalName(node) != "Contents") continue;
    std::string key = ChildText(node, is_directory ? "Prefix" : "Key");
    if (escaped) key = Unescaped(key);
    if (!key.starts_with(prefix)) return BadAnswer("listing of the requested prefix");
    page.any = true;
    std::string name = key.substr(prefix.size());
    if (is_directory && name.ends_with('/')) name.pop_back();
    if (!IsName(name)) continue;
    if (is_directory) {
      directories.push_back(std::move(name));
    } else if (files.insert(name).second) {
      page.entries.push_back({std::move(name), ObjectInfo::Kind::kFile});
    }
  }
  for (std::string& name : directories) {
    if (!files.insert(name).second) continue;
    page.entries.push_back({std::move(name), ObjectInfo::Kind::kDirectory});
  }
  if (ChildText(root, "IsTruncated") != "true") return page;
  page.next = ChildText(root, "NextContinuationToken");
  if (page.next.empty()) return BadAnswer("listing: it is incomplete, but names no next page");
  return page;
}

Result<std::string> ParseS3UploadId(std::string_view body) {
  pugi::xml_document document;
  const std::string what = "document of an upload";
  if (!Parse(body, document)) return BadAnswer(what);
  const pugi::xml_node root = document.document_element();
  std::string id = ChildText(root, "UploadId");
  if (LocalName(root) != "InitiateMultipartUploadResult" || !IsFieldText(id) ||
      id.size() > kMaxUploadId) {
    return BadAnswer(what);
  }
  return id;
}

Result<std::string> ParseS3ETag(std::string_view body) {
  pugi::xml_document document;
  const std::string what = "document of an object that was put";
  if (!Parse(body, document)) return BadAnswer(what);
  const pugi::xml_node root = document.document_element();
  const std::string_view name = LocalName(root);
  std::string tag = ChildText(root, "ETag");
  if ((name != "CopyPartResult" && name != "CompleteMultipartUploadResult") || !IsFieldText(tag) ||
      tag.size() > kMaxName) {
    return BadAnswer(what);
  }
  // Servers leave the quotes out; readers are given the tag with them.
  if (tag.front() != '"') tag = '"' + tag + '"';
  if (tag.size() < 3 || tag.back() != '"' || tag.find('"', 1) != tag.size() - 1) {
    return BadAnswer(what);
  }
  return tag;
}

std::string ParseS3Tags(std::string_view body) {
  pugi::xml_document document;
  if (!Parse(body, document)) return {};
  const pugi::xml_node root = document.document_element();
  if (LocalName(root) != "Tagging") return {};
  std::string tags;
  for (const pugi::xml_node& tag : Child(root, "TagSet").children()) {
    if (LocalName(tag) != "Tag" || ChildText(tag, "Key").empty()) continue;
    tags += (tags.empty() ? "" : "&") + EscapeQueryValue(ChildText(tag, "Key")) + '=' +
            EscapeQueryValue(ChildText(tag, "Value"));
  }
  return tags;
}

std::optional<HttpHeaders> ParseS3Grants(std::string_view body) {
  pugi::xml_document document;
  if (!Parse(body, document)) return std::nullopt;
  const pugi::xml_node root = document.document_element();
  if (LocalName(root) != "AccessControlPolicy") return std::nullopt;
  const std::string owner = ChildText(Child(root, "Owner"), "ID");
  HttpHeaders fields;
  bool for_owner_alone = true;
  for (const pugi::xml_node& grant : Child(root, "AccessControlList").children()) {
    if (LocalName(grant) != "Grant") continue;
    const std::string name = GrantField(ChildText(grant, "Permission"));
    const auto grantee = GranteeText(Child(grant, "Grantee"));
    if (name.empty() || !grantee || fields.size() >= kMostGrants) return std::nullopt;
    const bool is_owners = name == kFullControl && grantee == "id=\"" + owner + '"';
    for_owner_alone = for_owner_alone && is_owners;
    const auto same = std::find_if(fields.begin(), fields.end(),
                                   [&](const HttpHeader& field) { return field.name == name; });
    if (same == fields.end()) {
      fields.push_back({name, *grantee});
    } else if (same->value.size() < kMostGrantText) {
      same->value += ", " + *grantee;
    } else {
      return std::nullopt;
    }
  }
  if (for_owner_alone) fields.clear();
  return fields;
}

Result<ExpiringCredentials> ParseStsAnswer(std::string_view body) {
  pugi::xml_document document;
  if (!Parse(body, document)) return BadAnswer("document of credentials of a role");
  pugi::xml_node at = document.document_element();
  const pugi::xml_node result =
      at.find_child([](const pugi::xml_node& each) { return LocalName(each).ends_with("Result"); });
  at = Child(result, "Credentials");
  ExpiringCredentials found;
  found.credentials = {ChildText(at, "AccessKeyId"), ChildText(at, "SecretAccessKey"),
                       ChildText(at, "SessionToken")};
  return Checked(std::move(found), ChildText(at, "Expiration"),
                 "document of credentials of a role");
}

Result<ExpiringCredentials> ParseCredentialsDocument(std::string_view body) {
  const auto document = ParseJson(body, {std::size_t{1} << 20, 8, 1000});
  const std::string what = "document of credentials";
  if (!document || !document->is_object()) return BadAnswer(what);
  ExpiringCredentials found;
  found.credentials.access_key_id = TextMember(*document, "AccessKeyId").value_or("");
  found.credentials.secret_access_key = TextMember(*document, "SecretAccessKey").value_or("");
  // A machine's and a container's role say "Token", a process says "SessionToken".
  const auto token = TextMember(*document, "Token");
  found.credentials.session_token =
      token ? *token : TextMember(*document, "SessionToken").value_or("");
  return Checked(std::move(found), TextMember(*document, "Expiration").value_or(""), what);
}

}  // namespace unshard
