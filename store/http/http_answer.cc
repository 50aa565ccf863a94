#include "store/http/http_answer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/codecs/file_suffixes.h"
#include "codec/core/crc32c.h"
#include "store/http/redirects.h"
#include "store/http/retry.h"

namespace unshard {
namespace {

// Larger numbers are refused by servers that compute with signed ones.
constexpr std::uint64_t kMostInRange = std::uint64_t{1} << 62;
constexpr const char* kBeforeEtag = " etag ";  // in a generation

HttpObject MakeObject(const HttpResponse& response, std::uint64_t size, const Bytes* whole) {
  HttpObject object;
  object.validators = ParseValidators(response.headers);
  object.info.size = size;
  object.info.modified.tv_sec = object.validators.modified;
  object.info.generation = GenerationOf(object.validators, size, whole);
  return object;
}

Result<Bytes> Decoded(HttpResponse& response, std::uint64_t max_bytes) {
  ByteVector bytes = std::move(response.body);
  const auto encodings = ContentEncodings(response.headers);
  for (auto encoding = encodings.rbegin(); encoding != encodings.rend(); ++encoding) {
    const BytesCodecPtr codec = CodecOfContentEncoding(*encoding);
    if (!codec) {
      return Fail(ErrorCode::kNotSupported, "the server sends the Content-Encoding '", *encoding,
                  "', which is not decoded here; expected gzip, br, zstd, xz or bz2");
    }
    auto plain = codec->Decode(bytes, max_bytes);
    if (!plain) return Forward(std::move(plain).error(), "decoding the answer of the server");
    bytes = *std::move(plain);
  }
  return Bytes(std::move(bytes));
}

Result<HttpAnswer> ReadWholeAnswer(HttpResponse response, std::uint64_t max_bytes) {
  if (response.body_too_large) {
    const auto field = FindHeader(response.headers, "Content-Length");
    std::optional<std::uint64_t> size;  // of an encoded body only decoding finds it
    if (field && ContentEncodings(response.headers).empty()) size = ParseContentLength(*field);
    return HttpAnswer{HttpAnswer::Kind::kTooLarge, MakeObject(response, size.value_or(0), nullptr)};
  }
  UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, Decoded(response, max_bytes));
  HttpObject object = MakeObject(response, bytes.size(), &bytes);
  object.range = {0, bytes.size()};
  object.bytes = std::move(bytes);
  HttpAnswer answer{HttpAnswer::Kind::kWhole, std::move(object)};
  answer.was_encoded = !ContentEncodings(response.headers).empty();
  return answer;
}

// The size of the object, where the answer has it.
std::optional<std::uint64_t> TotalOf(const HttpResponse& response) {
  const auto field = FindHeader(response.headers, "Content-Range");
  const auto range = field ? ParseContentRange(*field) : std::nullopt;
  return range ? range->total : std::nullopt;
}

Result<HttpAnswer> ReadPartAnswer(HttpResponse response, const AskedRange& asked) {
  if (!ContentEncodings(response.headers).empty()) {
    HttpAnswer answer{HttpAnswer::Kind::kEncoded};
    answer.total = TotalOf(response);
    return answer;
  }
  if (response.body_too_large) {
    return FailWith(EPROTO, ErrorCode::kUnavailable,
                    "the server breaks HTTP: more bytes than the requested range");
  }
  UNSHARD_ASSIGN_OR_RETURN(const PartialContent part,
                           CheckPartialContent(response.headers, asked, response.body.size()));
  HttpObject object = MakeObject(response, part.total, nullptr);
  object.range = part.range;
  object.bytes = Bytes(std::move(response.body));
  return HttpAnswer{HttpAnswer::Kind::kPart, std::move(object)};
}

HttpAnswer Unsatisfied(const HttpResponse& response) {
  HttpAnswer answer{HttpAnswer::Kind::kUnsatisfied};
  answer.total = TotalOf(response);
  return answer;
}

}  // namespace

Result<HttpAnswer> ReadAnswer(HttpResponse response, const AskedRange& asked,
                              std::uint64_t max_whole_bytes) {
  using Kind = HttpAnswer::Kind;
  if (IsRedirect(response)) return HttpAnswer{Kind::kDirectory};
  switch (response.status) {
    case 200:
      return ReadWholeAnswer(std::move(response), max_whole_bytes);
    case 206:
      return ReadPartAnswer(std::move(response), asked);
    case 304:
      return HttpAnswer{Kind::kUnchanged};
    case 401:
    case 403:
      return Fail(ErrorCode::kPermissionDenied, "the server denies access (HTTP ", response.status,
                  ")");
    case 404:
    case 410:
      return HttpAnswer{Kind::kMissing};
    case 412:
      return HttpAnswer{Kind::kChanged};
    case 416:
      return Unsatisfied(response);
    default:
      return FailWith(IsRetriedStatus(response.status) ? 0 : EPROTO, ErrorCode::kUnavailable,
                      "the server answered HTTP ", response.status);
  }
}

Generation GenerationOf(const Validators& validators, std::uint64_t size, const Bytes* whole) {
  std::string tag = "size " + std::to_string(size);
  if (validators.tag && !validators.tag->weak) return {tag + kBeforeEtag + validators.tag->quoted};
  if (validators.tag) tag += " weak " + validators.tag->quoted;
  if (!validators.modified_text.empty()) tag += " modified " + validators.modified_text;
  if (whole != nullptr && !validators.tag && validators.modified_text.empty()) {
    tag += " crc32c " + std::to_string(Crc32c(whole->span()));
  }
  return {std::move(tag)};
}

std::optional<Validators> StrongValidatorsOf(const Generation& generation, std::uint64_t size) {
  const std::string before = "size " + std::to_string(size) + kBeforeEtag;
  if (!generation.tag.starts_with(before)) return std::nullopt;
  Validators validators;
  validators.tag = ParseEntityTag(std::string_view(generation.tag).substr(before.size()));
  if (!validators.tag || GenerationOf(validators, size, nullptr) != generation) return std::nullopt;
  return validators;
}

bool CanBeSameVersion(const Validators& opened, const Validators& answer) {
  if (opened.tag && answer.tag) {
    if (opened.tag->quoted != answer.tag->quoted || opened.tag->weak != answer.tag->weak) {
      return false;
    }
    if (!opened.tag->weak) return true;
  }
  return opened.modified_text.empty() || answer.modified_text.empty() ||
         opened.modified == answer.modified;
}

void AddReadCondition(const Validators& validators, HttpHeaders& headers) {
  if (validators.tag && !validators.tag->weak) {
    headers.push_back({"If-Match", validators.tag->quoted});
  } else if (!validators.modified_text.empty()) {
    headers.push_back({"If-Unmodified-Since", validators.modified_text});
  }
}

void AddRefreshCondition(const Validators& validators, HttpHeaders& headers) {
  if (validators.tag) {
    headers.push_back(
        {"If-None-Match", (validators.tag->weak ? "W/" : "") + validators.tag->quoted});
  }
  if (!validators.modified_text.empty()) {
    headers.push_back({"If-Modified-Since", validators.modified_text});
  }
}

Bytes PartOf(const Bytes& bytes, std::uint64_t begin, std::uint64_t size) {
  Bytes part = bytes.Slice(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
  if (part.size() >= bytes.size() / 2) return part;
  return Bytes(ByteVector(part.span().begin(), part.span().end()));
}

std::string RangeField(const AskedRange& asked) {
  const std::uint64_t size = std::min(asked.size, kMostInRange);
  if (asked.suffix) return "bytes=-" + std::to_string(size);
  const std::uint64_t begin = std::min(asked.begin, kMostInRange);
  return "bytes=" + std::to_string(begin) + '-' + std::to_string(begin + size - 1);
}

}  // namespace unshard
