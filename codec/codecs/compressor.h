// What the compressors among the bytes-to-bytes codecs share: a codec made of a decoder and an
// encoder, the loops that feed the stream of a library and let its output grow within a bound, and
// the texts of failures.
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
#include <type_traits>

#include "codec/chain/codec_spec.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/core/library.h"

namespace unshard {

using Decoder = Result<ByteVector> (*)(ByteSpan stored, std::uint64_t max_bytes);
using Encoder = std::function<Result<ByteVector>(ByteSpan plain)>;

// A compressor by a library; the functions are null where this build lacks it.
struct LibraryCompressor {
  Library library;
  Decoder decode = nullptr;
  // `item_size`: bytes of the items that are encoded; 0: the bytes are not items.
  Result<Encoder> (*make_encoder)(const CodecOptions& options, std::uint32_t item_size) = nullptr;
};

// A compressor. Its stream describes itself, so that only encoding depends on the configuration:
// where `encoder` is a failure, because the configuration is not supported, Decode still works.
BytesCodecPtr MakeCompressor(const CodecSpec& spec, Decoder decoder, Result<Encoder> encoder);
// The same by a library. Where this build lacks it, both directions fail with kNotSupported:
// `codecs[1]: the codec "zstd" is not in this build (libzstd)`.
BytesCodecPtr MakeCompressor(const CodecSpec& spec, std::uint32_t item_size,
                             const LibraryCompressor& compressor);

// The function `bind` of a codec that a library decodes and encodes.
template <const LibraryCompressor& compressor>
Result<BytesCodecPtr> BindCompressor(const CodecSpec& spec, std::uint32_t item_size) {
  return MakeCompressor(spec, item_size, compressor);
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

// The bytes that are given to a library whose streams have the members of zlib's, and may count in
// 32 bits. They have to outlive the object.
class StreamInput {
 public:
  explicit StreamInput(ByteSpan bytes = {}) : rest_(bytes) {}

  // What the library has not taken.
  [[nodiscard]] ByteSpan rest() const { return rest_; }
  // Puts back the last `count` bytes that the library took.
  void GiveBack(std::size_t count) { rest_ = {rest_.data() - count, rest_.size() + count}; }
  // The most that a library writes at once of `room` bytes.
  [[nodiscard]] static std::size_t Most(std::size_t room) { return std::min(room, kMaxStep); }

  // Points `stream` at the rest and at Most(room) bytes at `at`, and calls `run(is_all)`, where
  // is_all says that it has all of the rest. Returns how many bytes the library wrote.
  template <class Stream, class Run>
  std::size_t Feed(Stream& stream, std::uint8_t* at, std::size_t room, const Run& run) {
    using Input = std::remove_const_t<std::remove_pointer_t<decltype(stream.next_in)>>;
    const auto given = static_cast<unsigned>(std::min(rest_.size(), kMaxStep));
    const auto most = static_cast<unsigned>(Most(room));
    // Some libraries lack a const; none writes to its input.
    stream.next_in = reinterpret_cast<Input*>(const_cast<std::uint8_t*>(rest_.data()));
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<decltype(stream.next_out)>(at);
    stream.avail_out = most;
    run(given == rest_.size());
    // It may put back what it took at an earlier step, so that it leaves more than it was given.
    rest_ = rest_.subspan(given);
    GiveBack(stream.avail_in);
    return most - stream.avail_out;
  }

 private:
  static constexpr std::size_t kMaxStep = std::size_t{1} << 30;

  ByteSpan rest_;
};

struct StreamProgress {
  std::size_t written = 0;  // bytes of output
  bool done = false;        // the stream has ended
};

// The output of `step(at, room)`, which writes at most `room` bytes at `at`; it grows from
// `first_size` bytes on. The output gets one byte more than `max_bytes`: this distinguishes an
// output of exactly `max_bytes` from a longer one, and keeps `room` above 0 until the stream ends.
template <class Step>
Result<ByteVector> OutputOfSteps(const char* format, std::uint64_t max_bytes,
                                 std::uint64_t first_size, const Step& step) {
  const std::uint64_t limit =
      std::min<std::uint64_t>(max_bytes, std::numeric_limits<std::ptrdiff_t>::max() - 1) + 1;
  ByteVector output;
  std::size_t used = 0;
  for (;;) {
    if (used == output.size()) {
      const std::uint64_t wanted = output.empty() ? first_size : output.size() * 2;
      output.resize(std::clamp<std::uint64_t>(wanted, 1, limit));
    }
    UNSHARD_ASSIGN_OR_RETURN(const StreamProgress progress,
                             step(output.data() + used, output.size() - used));
    used += progress.written;
    if (used > max_bytes) return DecodesToMore(format, max_bytes);
    if (progress.done) break;
  }
  output.resize(used);
  if (output.capacity() / 2 > used) output.shrink_to_fit();
  return output;
}

// Decodes `stored_size` bytes. `expected_bytes` is a hint, which may come from damaged data;
// without it, a small `max_bytes` is taken for the size, as it is that of a chunk. The output has
// this size from the start, unless data are hardly ever compressed so well.
template <class Step>
Result<ByteVector> DecodeInSteps(const char* format, std::size_t stored_size,
                                 std::uint64_t max_bytes, const Step& step,
                                 std::uint64_t expected_bytes = 0) {
  constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 24;
  constexpr std::uint64_t kUsualRatio = 256;
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;
  if (expected_bytes == 0 && max_bytes <= kMaxChunk) expected_bytes = max_bytes;
  const bool is_usual =
      expected_bytes > 0 && expected_bytes < std::max(stored_size * kUsualRatio, kSmall);
  return OutputOfSteps(format, max_bytes, is_usual ? expected_bytes + 1 : 4 * stored_size, step);
}

// Encodes to a stream that has about `bound` bytes at most.
template <class Step>
Result<ByteVector> EncodeInSteps(const char* format, std::uint64_t bound, const Step& step) {
  return OutputOfSteps(format, ~std::uint64_t{0}, bound, step);
}

}  // namespace unshard
