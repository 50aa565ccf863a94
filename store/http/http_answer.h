// What an answer to a GET says of an object. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/http/response.h"
#include "store/http/transport.h"
#include "store/object/object_store.h"

namespace unshard {

// One version of an object, and the bytes of it that came along.
struct HttpObject {
  ObjectInfo info;
  Validators validators;
  ByteRange range;  // within the object
  Bytes bytes;      // of that range; for kWhole all of them
};

// What a read of `asked` has brought.
struct HttpAnswer {
  enum class Kind {
    kPart,         // 206: the bytes asked for
    kWhole,        // 200: the whole object, decoded
    kTooLarge,     // 200: an object of more bytes than the request takes; `info.size` where known
    kEncoded,      // 206 of an object that is stored or sent compressed: to be read as a whole
    kMissing,      // 404, 410
    kDirectory,    // a redirect, of which the transport passes on those to "URL/" only
    kChanged,      // 412: the condition of the request is false
    kUnchanged,    // 304
    kUnsatisfied,  // 416: the range begins at the end of the object, or behind it
  };
  Kind kind = Kind::kMissing;
  std::optional<HttpObject> object{};  // kPart, kWhole, kTooLarge
  bool was_encoded = false;            // kWhole: its bytes were decoded, which proves their length
  // kUnsatisfied, kEncoded: the size of the object as it is stored, where the answer has it ("bytes
  // */10").
  std::optional<std::uint64_t> total{};
};

// Fails with kPermissionDenied for 401 and 403, with kUnavailable for every other status and for an
// answer that breaks HTTP (errno EPROTO, except for statuses that are retried), and with
// kNotSupported for an encoding that is not decoded, or that this build lacks.
// `max_whole_bytes` bounds what may be decoded (kResourceExhausted).
Result<HttpAnswer> ReadAnswer(HttpResponse response, const AskedRange& asked,
                              std::uint64_t max_whole_bytes);

// The strong ETag, else the weak ETag and Last-Modified; the size in any case. Without any
// validator: the checksum of the bytes as well, where they are `whole`.
Generation GenerationOf(const Validators& validators, std::uint64_t size, const Bytes* whole);

// The validators of a generation that a strong ETag makes; nothing for all others, which do not
// tell apart versions for good: an object may be replaced twice in the second of its Last-Modified.
std::optional<Validators> StrongValidatorsOf(const Generation& generation, std::uint64_t size);

// Whether an answer with the validators `answer` can be of the version with `opened`. Servers leave
// out some of them; only what both have is compared, and after strong tags nothing else.
bool CanBeSameVersion(const Validators& opened, const Validators& answer);

// Adds the field that makes a read fail with 412 once the version is no longer the current one:
// If-Match, else If-Unmodified-Since, else none.
void AddReadCondition(const Validators& validators, HttpHeaders& headers);
// Adds the fields that make the answer 304 while the version is the current one.
void AddRefreshCondition(const Validators& validators, HttpHeaders& headers);

// A part of `bytes`; where it is a small one a copy, which does not keep the memory of all of them.
Bytes PartOf(const Bytes& bytes, std::uint64_t begin, std::uint64_t size);

// The value of a Range field.
std::string RangeField(const AskedRange& asked);

}  // namespace unshard
