#include "store/s3/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "store/http/body_digests.h"
#include "store/http/url.h"

namespace unshard {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::array<std::string_view, 2> kNotSigned = {"user-agent", "accept-encoding"};
constexpr std::array<std::string_view, 4> kOurFields = {"x-amz-date", "x-amz-content-sha256",
                                                        "x-amz-security-token", "authorization"};

using Digest = std::array<unsigned char, 32>;

std::string_view TextOf(const Digest& digest) {
  return AsText(ByteSpan(digest.data(), digest.size()));
}

Digest Sha256(std::string_view text) {
  Digest digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

Digest Hmac(std::string_view key, std::string_view text) {
  Digest digest{};
  const ByteSpan bytes = AsBytes(text);
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(),
       digest.data(), nullptr);
  return digest;
}

// The pairs of a query in the order of their escaped names and values, each with its '='.
std::string CanonicalQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (!pair.empty()) pairs.emplace_back(pair.substr(0, equals), value);
  }
  std::sort(pairs.begin(), pairs.end());
  std::string canonical;
  for (const auto& [name, value] : pairs) {
    canonical += (canonical.empty() ? "" : "&") + name + '=' + value;
  }
  return canonical;
}

// Without white space around it, and with one space for several.
std::string CanonicalValue(std::string_view value) {
  std::string canonical;
  for (const char byte : value) {
    const char each = byte == '\t' ? ' ' : byte;
    if (each == ' ' && (canonical.empty() || canonical.back() == ' ')) continue;
    canonical += each;
  }
  while (canonical.ends_with(' ')) canonical.pop_back();
  return canonical;
}

struct SignedFields {
  std::string lines;  // "name:value\n" each
  std::string names;  // "name;name"
};

SignedFields CanonicalFields(const HttpHeaders& headers, const std::string& host) {
  std::map<std::string, std::string> fields{{"host", host}};
  for (const HttpHeader& header : headers) {
    const std::string name = LowerCase(header.name);
    if (IsOneOf(kNotSigned, name)) continue;
    std::string& value = fields[name];
    value += (value.empty() ? "" : ",") + CanonicalValue(header.value);
  }
  SignedFields canonical;
  for (const auto& [name, value] : fields) {
    canonical.lines += name + ':' + value + '\n';
    canonical.names += (canonical.names.empty() ? "" : ";") + name;
  }
  return canonical;
}

std::string Signature(const AwsCredentials& credentials, std::string_view date,
                      const SigningScope& scope, std::string_view text) {
  Digest key = Hmac("AWS4" + credentials.secret_access_key, date);
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request"), text}) {
    key = Hmac(TextOf(key), part);
  }
  return HexText(key);
}

}  // namespace

std::string AmzDate(std::time_t time) {
  std::tm broken{};
  gmtime_r(&time, &broken);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &broken)};
}

Result<HttpRequest> SignRequest(HttpRequest request, const AwsCredentials& credentials,
                                const SigningScope& scope, std::time_t now) {
  UNSHARD_ASSIGN_OR_RETURN(const HttpUrl url, ParseHttpUrl(request.url));
  const std::string host = url.origin.substr(url.origin.find("://") + 3);
  const std::string date = AmzDate(now);
  const std::string day = date.substr(0, 8);
  const auto announced =
      request.streamed ? FindHeader(request.headers, "X-Amz-Content-Sha256") : std::nullopt;
  const std::string body_digest =
      announced ? std::string(*announced) : HexText(Sha256(request.body));

  std::erase_if(request.headers, [](const HttpHeader& header) {
    return IsOneOf(kOurFields, LowerCase(header.name));
  });
  request.headers.push_back({"X-Amz-Date", date});
  request.headers.push_back({"X-Amz-Content-Sha256", body_digest});
  if (!credentials.session_token.empty()) {
    request.headers.push_back({"X-Amz-Security-Token", credentials.session_token});
  }

  const SignedFields fields = CanonicalFields(request.headers, host);
  const std::string canonical = std::string(MethodName(request.method)) + '\n' + url.path + '\n' +
                                CanonicalQuery(url.query) + '\n' + fields.lines + '\n' +
                                fields.names + '\n' + body_digest;
  const std::string place = day + '/' + scope.region + '/' + scope.service + "/aws4_request";
  const std::string to_sign =
      std::string(kAlgorithm) + '\n' + date + '\n' + place + '\n' + HexText(Sha256(canonical));
  request.headers.push_back(
      {"Authorization", std::string(kAlgorithm) + " Credential=" + credentials.access_key_id + '/' +
                            place + ",SignedHeaders=" + fields.names +
                            ",Signature=" + Signature(credentials, day, scope, to_sign)});
  return request;
}

}  // namespace unshard
