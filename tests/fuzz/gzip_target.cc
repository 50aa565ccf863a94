// Arbitrary bytes as gzip: bounded output, never other data than zlib finds, and back.
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "codec/compression/gzip.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;

// The first member by zlib; nothing where it refuses.
std::optional<ByteVector> InflateWithZlib(ByteSpan stored) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return std::nullopt;
  ByteVector plain(kMaxBytes + 1);
  stream.next_in = const_cast<Bytef*>(stored.data());
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = plain.data();
  stream.avail_out = static_cast<uInt>(plain.size());
  const int code = inflate(&stream, Z_FINISH);
  plain.resize(stream.total_out);
  inflateEnd(&stream);
  if (code != Z_STREAM_END) return std::nullopt;
  return plain;
}

}  // namespace

void FuzzGzip(ByteSpan input) {
  const auto plain = GzipDecode(input, kMaxBytes, input.empty() ? 0 : input[0]);
  if (plain) {
    Require(plain->size() <= kMaxBytes, "output is bounded");
    const auto first = InflateWithZlib(input);
    if (first) {
      Require(first->size() <= plain->size(), "no member is lost");
      Require(std::equal(first->begin(), first->end(), plain->begin()), "data is what zlib finds");
    }
  }
  if (input.size() >= 4) PlausibleGzipSize(input.last(4), input.size());
  if (input.size() > 4096) return;
  const ByteVector copy(input.begin(), input.end());
  for (const int level : {1, 6, 9}) {
    const ByteVector stored = GzipEncode(input, level);
    Require(GzipDecode(stored, input.size()) == copy, "what is encoded is decoded");
    Require(InflateWithZlib(stored) == copy, "zlib decodes what is encoded");
    Require(PlausibleGzipSize(ByteSpan(stored).last(4), stored.size()) == input.size(),
            "our own trailers announce the size");
  }
}

}  // namespace unshard
