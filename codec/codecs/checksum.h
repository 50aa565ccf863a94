// Checksums of 32 bits as codecs, little-endian, before or after the bytes that they protect.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codec/chain/codec_spec.h"
#include "codec/core/bytes_digest.h"

namespace unshard {

// Makes the digest of no bytes yet; what Finish() returns is stored.
using DigestFactory = std::function<std::unique_ptr<BytesDigest>()>;

// The codec `name`, whose checksum, of 4 bytes, follows the bytes.
BytesCodecPtr MakeChecksumAtEnd(const std::string& name, DigestFactory digest);

}  // namespace unshard
