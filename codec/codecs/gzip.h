// gzip (RFC 1952) for whole buffers, both directions.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/chain/codec_spec.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// Inflates one or more gzip members; zero bytes after the last member are legal. Fails with
// kDataLoss on anything that is not gzip, on a wrong crc or length and on truncation, and with
// kResourceExhausted as soon as the output would exceed `max_bytes`. `expected_bytes` is a hint
// for the first allocation (0: none).
Result<ByteVector> GzipDecode(ByteSpan stored, std::uint64_t max_bytes,
                              std::uint64_t expected_bytes = 0);

// One member, without name and time, so that output is reproducible. `level` 0..9; 0: stored
// blocks.
ByteVector GzipEncode(ByteSpan plain, int level = 6);

// An upper bound for the size of one member of `plain_size` bytes, without a name, by zlib or by
// GzipEncode. Modulo 2^64.
std::uint64_t MaxGzipSize(std::uint64_t plain_size);

// The plain size that `trailer`, the last four bytes of a buffer of `stored_size` bytes, announces,
// where a single member of that size can have it; nothing where only decoding finds the size.
// codec/FORMATS.md, "Sizes".
std::optional<std::uint64_t> PlausibleGzipSize(ByteSpan trailer, std::uint64_t stored_size);

}  // namespace unshard
