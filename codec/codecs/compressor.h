// What the compressors among the bytes-to-bytes codecs share: a codec made of a decoder and an
// encoder, the loop that bounds the output of a decoder, and the texts of failures.
//
// Decoders fail with kDataLoss on damage, truncation and trailing bytes, and with
// kResourceExhausted as soon as the output would exceed `max_bytes`; a size that the stored bytes
// announce is compared with that bound before it is used. Encoders give the same bytes for the same
// input with the same version of the library, and fail with kResourceExhausted where the format or
// its library cannot take so many bytes, or memory is short. Messages begin with the name of the
// format. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "codec/chain/codec_spec.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/core/library.h"

namespace unshard {

using Decoder = Result<ByteVector> (*)(ByteSpan stored, std::uint64_t max_bytes);
using Encoder = std::function<Result<ByteVector>(ByteSpan plain)>;

// What a library does for one compressor; null where this build lacks the library.
struct CompressorFunctions {
  Decoder decode = nullptr;
  // `item_size`: bytes of the items that are encoded; 0: the bytes are not items.
  Result<Encoder> (*make_encoder)(const CodecOptions& options, std::uint32_t item_size) = nullptr;
};

// A compressor. Its stream describes itself, so that only encoding depends on the configuration:
// where `encoder` is a failure, because the configuration is not supported, Decode still works.
BytesCodecPtr MakeCompressor(const CodecSpec& spec, Decoder decoder, Result<Encoder> encoder);
// The same by a library. Where this build lacks it, both directions fail with kNotSupported:
// `codecs[1]: the codec "zstd" is not in this build (libzstd)`.
BytesCodecPtr MakeCompressor(const CodecSpec& spec, std::uint32_t item_size, const Library& library,
                             const CompressorFunctions& functions);

// The function `bind` of a codec that a library decodes and encodes.
template <const Library& (*library)(), const CompressorFunctions& functions>
Result<BytesCodecPtr> BindCompressor(const CodecSpec& spec, std::uint32_t item_size) {
  return MakeCompressor(spec, item_size, library(), functions);
}

// kDataLoss, with the message "format: expected".
template <class... Parts>
tl::unexpected<Error> Damaged(const char* format, const Parts&... expected) {
  return Fail(ErrorCode::kDataLoss, format, ": ", expected...);
}
// kResourceExhausted: the output of a decoder exceeds `max_bytes`.
tl::unexpected<Error> DecodesToMore(const char* format, std::uint64_t max_bytes);
// kResourceExhausted: the library has no memory.
tl::unexpected<Error> NoMemory(const char* format);
// kResourceExhausted: the format takes at most `limit` bytes.
tl::unexpected<Error> TooLargeToEncode(const char* format, std::uint64_t limit);

// At most 2^30: for libraries that count in 32 bits.
inline unsigned Clamp32(std::size_t size) {
  return static_cast<unsigned>(std::min(size, std::size_t{1} << 30));
}

// For libraries whose input pointers lack a const, through which they never write.
template <class To>
To* Unconst(const std::uint8_t* bytes) {
  return reinterpret_cast<To*>(const_cast<std::uint8_t*>(bytes));
}

struct DecodeProgress {
  std::size_t written = 0;  // bytes of output
  bool done = false;        // the stream has ended
};

// Decodes with `step(at, room)`, which writes at most `room` bytes at `at`, into an output that
// grows from `first_size` bytes on. The output gets one byte more than `max_bytes`: this
// distinguishes an output of exactly `max_bytes` from a longer one, and keeps `room` above 0 until
// the stream ends.
template <class Step>
Result<ByteVector> DecodeInSteps(const char* format, std::uint64_t max_bytes, const Step& step,
                                 std::uint64_t first_size = std::uint64_t{64} << 10) {
  const std::uint64_t limit =
      std::min<std::uint64_t>(max_bytes, std::numeric_limits<std::ptrdiff_t>::max() - 1) + 1;
  ByteVector output;
  std::size_t used = 0;
  for (;;) {
    if (used == output.size()) {
      const std::uint64_t wanted = output.empty() ? first_size : output.size() * 2;
      output.resize(std::clamp<std::uint64_t>(wanted, 1, limit));
    }
    UNSHARD_ASSIGN_OR_RETURN(const DecodeProgress progress,
                             step(output.data() + used, output.size() - used));
    used += progress.written;
    if (used > max_bytes) return DecodesToMore(format, max_bytes);
    if (progress.done) break;
  }
  output.resize(used);
  return output;
}

}  // namespace unshard
