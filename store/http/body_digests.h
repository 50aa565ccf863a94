// Digests of the bodies of requests, as header fields name them.
#pragma once

#include <string>

#include "codec/core/error.h"
#include "store/http/transport.h"

namespace unshard {

// Read the whole body, a piece at a time; fail where it cannot be read.
// In hexadecimal digits, for X-Amz-Content-Sha256.
Result<std::string> Sha256Of(const HttpBody& body);
// In base64, for Content-MD5 (RFC 1864).
Result<std::string> Md5Of(const HttpBody& body);
// In base64, as GCS takes it: big-endian.
Result<std::string> Crc32cOf(const HttpBody& body);

}  // namespace unshard
