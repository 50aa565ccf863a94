// gzip: inflate by isa-l, which is several times faster than zlib; deflate by zlib, whose output
// does not depend on the processor.
#include "codec/compression/gzip.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "codec/compression/codecs.h"
#include "codec/compression/compressor.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // both libraries count in 32 bits
constexpr std::uint64_t kMinMemberSize = 18;            // header and trailer
constexpr std::uint64_t kMaxRatio = 1032;               // of deflate

tl::unexpected<Error> FailGzip(const std::string& what) {
  return Fail(ErrorCode::kDataLoss, "gzip: " + what);
}

const char* InflateFailure(int code) {
  switch (code) {
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return "expected a gzip header";
    case ISAL_INCORRECT_CHECKSUM:
      return "expected crc and length to match the data";
    default:
      return "expected a valid deflate stream";
  }
}

// Decodes the members of one buffer, one after another, into one output.
class Inflater {
 public:
  Inflater(ByteSpan stored, std::uint64_t max_bytes, std::uint64_t expected_bytes)
      : rest_(stored),
        max_bytes_(max_bytes),
        state_(std::make_unique_for_overwrite<inflate_state>()) {
    const std::uint64_t guess =
        expected_bytes != 0 ? expected_bytes : std::uint64_t{stored.size()} * 4;
    // The hint comes from outside: it is believed as far as usual data goes.
    constexpr std::uint64_t kUsualRatio = 64;
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;
    Resize(std::min(guess, std::max(stored.size() * kUsualRatio, kSmall)));
  }

  [[nodiscard]] ByteSpan rest() const { return rest_; }

  // Decodes the member that `rest` begins with and moves `rest` behind it.
  Status DecodeMember() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    std::size_t fed = 0;
    while (state_->block_state != ISAL_BLOCK_FINISH) {
      if (state_->avail_in == 0) fed += Feed(fed);
      UNSHARD_RETURN_IF_ERROR(DecodeStep());
      const bool all_written = state_->avail_out > 0;
      const bool finished = state_->block_state == ISAL_BLOCK_FINISH;
      if (!finished && all_written && state_->avail_in == 0 && fed == rest_.size()) {
        return FailGzip("expected more data, found the end");
      }
    }
    // What was fed and not used stands partly in the library's bit buffer.
    const auto buffered = static_cast<std::size_t>(std::max(state_->read_in_length, 0)) / 8;
    rest_ = rest_.subspan(fed - state_->avail_in - buffered);
    return {};
  }

  ByteVector Take() {
    output_.resize(written_);
    return std::move(output_);
  }

 private:
  std::size_t Feed(std::size_t fed) {
    const std::size_t step = std::min(rest_.size() - fed, kMaxStep);
    state_->next_in = const_cast<std::uint8_t*>(rest_.data()) + fed;  // only read
    state_->avail_in = static_cast<std::uint32_t>(step);
    return step;
  }

  Status DecodeStep() {
    if (written_ == output_.size()) Resize(std::max<std::uint64_t>(output_.size(), 512) * 2);
    const std::size_t room = std::min(output_.size() - written_, kMaxStep);
    state_->next_out = output_.data() + written_;
    state_->avail_out = static_cast<std::uint32_t>(room);
    const int code = isal_inflate(state_.get());
    written_ += room - state_->avail_out;
    if (code < 0) return FailGzip(InflateFailure(code));
    if (written_ > max_bytes_) {
      return Fail(ErrorCode::kResourceExhausted,
                  "gzip: expected at most " + std::to_string(max_bytes_) + " decoded bytes");
    }
    return {};
  }

  // One byte above the limit is room enough to find out that it is exceeded, and keeps the room
  // above 0 while the trailer is read.
  void Resize(std::uint64_t size) {
    const std::uint64_t limit =
        max_bytes_ == std::numeric_limits<std::uint64_t>::max() ? max_bytes_ : max_bytes_ + 1;
    output_.resize(std::clamp<std::uint64_t>(size, 1, limit));
  }

  ByteSpan rest_;
  std::uint64_t max_bytes_;
  std::unique_ptr<inflate_state> state_;
  ByteVector output_;
  std::size_t written_ = 0;
};

// The most that one member of `plain_size` bytes takes with zlib's default memory, which stores
// incompressible data in blocks.
std::uint64_t LargestMember(std::uint64_t plain_size) {
  return plain_size + (plain_size >> 12) + (plain_size >> 14) + (plain_size >> 25) + 7 +
         kMinMemberSize;
}

Result<Encoder> MakeEncoder(const CodecOptions& options, int level_if_absent) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", level_if_absent, 0, 9));
  return [level](ByteSpan plain) -> Result<ByteVector> { return GzipEncode(plain, level); };
}

}  // namespace

Result<ByteVector> GzipDecode(ByteSpan stored, std::uint64_t max_bytes,
                              std::uint64_t expected_bytes) {
  if (stored.empty()) return FailGzip("expected a member, found no data");
  Inflater inflater(stored, max_bytes, expected_bytes);
  do {
    UNSHARD_RETURN_IF_ERROR(inflater.DecodeMember());
  } while (!inflater.rest().empty() && inflater.rest().front() != 0);
  const ByteSpan padding = inflater.rest();
  if (std::any_of(padding.begin(), padding.end(), [](std::uint8_t byte) { return byte != 0; })) {
    return FailGzip("expected nothing but zeros behind the last member");
  }
  return inflater.Take();
}

ByteVector GzipEncode(ByteSpan plain, int level) {
  constexpr int kWindowBitsGzip = 15 + 16;
  constexpr int kDefaultMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, std::clamp(level, 0, 9), Z_DEFLATED, kWindowBitsGzip, kDefaultMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();  // the only failure with these arguments, as for the vector below
  }
  gz_header header{};
  header.os = 255;  // unknown: zlib would write the system that it was built for
  deflateSetHeader(&stream, &header);
  ByteVector stored(deflateBound(&stream, plain.size()));
  std::size_t written = 0;
  int code = Z_OK;
  do {
    if (stream.avail_in == 0) {
      const std::size_t step = std::min(plain.size(), kMaxStep);
      stream.next_in = const_cast<Bytef*>(plain.data());  // only read
      stream.avail_in = static_cast<uInt>(step);
      plain = plain.subspan(step);
    }
    const std::size_t room = std::min(stored.size() - written, kMaxStep);
    stream.next_out = stored.data() + written;
    stream.avail_out = static_cast<uInt>(room);
    code = deflate(&stream, plain.empty() ? Z_FINISH : Z_NO_FLUSH);
    written += room - stream.avail_out;
  } while (code == Z_OK);
  deflateEnd(&stream);
  stored.resize(written);
  return stored;
}

std::optional<std::uint64_t> PlausibleGzipSize(ByteSpan trailer, std::uint64_t stored_size) {
  if (trailer.size() != 4 || stored_size < kMinMemberSize) return std::nullopt;
  const std::uint64_t claim = LoadU32Le(trailer.data());
  if (claim / kMaxRatio > stored_size) return std::nullopt;
  if (stored_size > LargestMember(claim)) return std::nullopt;
  return claim;
}

// The levels where none is given are those of the reference implementations.
Result<std::shared_ptr<const BytesCodec>> MakeGzip(const std::string& name,
                                                   const CodecOptions& options) {
  const bool zarr = name == "gzip";
  if (!zarr && name != "numcodecs.gzip") return nullptr;
  const auto decode = [](ByteSpan stored, std::uint64_t max_bytes) {
    return GzipDecode(stored, max_bytes);
  };
  return MakeCompressor(name, decode, MakeEncoder(options, zarr ? 6 : 1));
}

}  // namespace unshard
