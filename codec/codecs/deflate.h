// deflate (RFC 1951) in its two containers, by the libraries that this build has: zlib always, and
// others where they are faster. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/codecs/compressor.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/core/library.h"

namespace unshard {

enum class DeflateContainer : std::uint8_t { kGzip, kZlib };  // RFC 1952, RFC 1950

// Inflates streams, one after the other, each in steps. Used by one thread.
class InflateStream {
 public:
  enum class State : std::uint8_t { kMore, kEnd, kBadHeader, kBadChecksum, kBadData };
  struct Step {
    std::size_t written;
    State state;
  };

  virtual ~InflateStream() = default;
  // Begins with the next stream.
  virtual void Reset() = 0;
  // Writes at most room.size() bytes, which is not 0. kMore: there are or may be more. kEnd:
  // `input` has what follows the stream.
  virtual Step Inflate(StreamInput& input, std::span<std::uint8_t> room) = 0;
};

// What one library does; null where zlib does it as fast, or where this build lacks the library.
struct DeflateFunctions {
  const Library* library;
  std::unique_ptr<InflateStream> (*inflate)(DeflateContainer container) = nullptr;
  // One stream without name and time, the same bytes for the same version of the library. `level`
  // 0 … 9 of zlib, or what makes streams of about that size.
  ByteVector (*deflate)(DeflateContainer container, ByteSpan plain, int level) = nullptr;
  // Continue a checksum: that of no bytes is 0, of adler32 1.
  std::uint32_t (*crc32)(std::uint32_t checksum, ByteSpan bytes) = nullptr;
  std::uint32_t (*adler32)(std::uint32_t checksum, ByteSpan bytes) = nullptr;
};

// The libraries. A later one replaces the functions that it has. To add one: deflate_NAME.cc with
// this function, and a line here.
#define UNSHARD_EACH_DEFLATE_LIBRARY(each) \
  each(ZlibDeflate) each(LibdeflateDeflate) each(IsalDeflate)
#define UNSHARD_DECLARE(name) const DeflateFunctions& name();
UNSHARD_EACH_DEFLATE_LIBRARY(UNSHARD_DECLARE)
#undef UNSHARD_DECLARE

// One table for each library, in that order.
std::vector<const DeflateFunctions*> DeflateTables();
// The functions in use; none is null.
const DeflateFunctions& DeflateInUse();

// Inflates `stored`: of gzip one or more members, which zeros may follow; of zlib one stream. Fails
// with kDataLoss on anything else, and with kResourceExhausted as soon as the output would exceed
// `max_bytes`. `expected_bytes` is a hint for the first allocation (0: none).
Result<ByteVector> Inflate(DeflateContainer container, ByteSpan stored, std::uint64_t max_bytes,
                           std::uint64_t expected_bytes = 0,
                           const DeflateFunctions& functions = DeflateInUse());

}  // namespace unshard
