// Inflate by isa-l, which is faster than zlib and libdeflate and decodes in steps; deflate by
// libdeflate, which is faster than zlib, and whose output, unlike isa-l's, does not depend on the
// processor.
#include "codec/compression/gzip.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>

#include "codec/compression/compressor.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // isa-l counts in 32 bits
constexpr std::uint64_t kMinMemberSize = 18;            // header and trailer
constexpr std::uint64_t kMaxRatio = 1032;               // of deflate

// The container of a deflate stream.
struct Container {
  const char* name;
  bool has_members;  // several members may follow each other, and zeros the last one
  std::uint32_t isal_flag;
  decltype(&libdeflate_gzip_compress) compress;
  decltype(&libdeflate_gzip_compress_bound) compress_bound;
};
constexpr Container kGzip{"gzip", true, ISAL_GZIP, libdeflate_gzip_compress,
                          libdeflate_gzip_compress_bound};
constexpr Container kZlib{"zlib", false, ISAL_ZLIB, libdeflate_zlib_compress,
                          libdeflate_zlib_compress_bound};

std::string InflateFailure(const Container& container, int code) {
  switch (code) {
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
    case ISAL_NEED_DICT:
      return std::string("expected a ") + container.name + " header";
    case ISAL_INCORRECT_CHECKSUM:
      return "the checksum or the length does not match the data";
    default:
      return "expected a valid deflate stream";
  }
}

// Decodes the members of one buffer, one after another, into one output.
class Inflater {
 public:
  Inflater(const Container& container, ByteSpan stored)
      : container_(container),
        rest_(stored),
        state_(std::make_unique_for_overwrite<inflate_state>()) {
    BeginMember();
  }

  // Writes at most `room` bytes at `at`.
  Result<DecodeProgress> Step(std::uint8_t* at, std::size_t room) {
    if (state_->avail_in == 0) Feed();
    const std::size_t size = std::min(room, kMaxStep);
    state_->next_out = at;
    state_->avail_out = static_cast<std::uint32_t>(size);
    const int code = isal_inflate(state_.get());
    if (code < 0 || code == ISAL_NEED_DICT) return Fail(InflateFailure(container_, code));
    const std::size_t written = size - state_->avail_out;
    if (state_->block_state == ISAL_BLOCK_FINISH) {
      UNSHARD_ASSIGN_OR_RETURN(const bool done, EndMember());
      return DecodeProgress{written, done};
    }
    if (written < size && state_->avail_in == 0 && fed_ == rest_.size()) {
      return Fail("the stream is cut short");
    }
    return DecodeProgress{written, false};
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Fail(const std::string& what) const {
    return Damaged(container_.name, what);
  }

  void BeginMember() {
    isal_inflate_init(state_.get());
    state_->crc_flag = container_.isal_flag;
    fed_ = 0;
  }

  void Feed() {
    const std::size_t size = std::min(rest_.size() - fed_, kMaxStep);
    state_->next_in = Unconst<std::uint8_t>(rest_.data()) + fed_;
    state_->avail_in = static_cast<std::uint32_t>(size);
    fed_ += size;
  }

  // Begins the next member; true where there is none.
  Result<bool> EndMember() {
    // The library's bit buffer has taken bytes that do not belong to this member.
    const auto buffered = static_cast<std::size_t>(std::max(state_->read_in_length, 0)) / 8;
    rest_ = rest_.subspan(fed_ - state_->avail_in - buffered);
    if (!container_.has_members && !rest_.empty()) return Fail("bytes follow the stream");
    if (!rest_.empty() && rest_.front() != 0) {
      BeginMember();
      return false;
    }
    if (std::any_of(rest_.begin(), rest_.end(), [](std::uint8_t byte) { return byte != 0; })) {
      return Fail("expected only zeros after the last member");
    }
    return true;
  }

  const Container& container_;
  ByteSpan rest_;        // from the start of the current member
  std::size_t fed_ = 0;  // of rest_: bytes that were given to the library
  std::unique_ptr<inflate_state> state_;
};

Result<ByteVector> Inflate(const Container& container, ByteSpan stored, std::uint64_t max_bytes,
                           std::uint64_t expected_bytes) {
  // The hint comes from the stored data, so that no more is allocated for it than usual data need.
  constexpr std::uint64_t kUsualRatio = 64;
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;
  if (stored.empty()) return Damaged(container.name, "expected a stream, found no data");
  if (expected_bytes == 0) expected_bytes = std::uint64_t{stored.size()} * 4;
  Inflater inflater(container, stored);
  return DecodeInSteps(
      container.name, max_bytes,
      [&](std::uint8_t* at, std::size_t room) { return inflater.Step(at, room); },
      std::min(expected_bytes, std::max(stored.size() * kUsualRatio, kSmall)));
}

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const {
    libdeflate_free_compressor(compressor);
  }
};

// Each thread keeps its last compressor: making one takes 670 KB, of which 256 KB are hash tables.
libdeflate_compressor& CompressorOf(int level) {
  thread_local std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor;
  thread_local int its_level = -1;  // a thread encodes for one dataset, with one level
  if (its_level != level) {
    compressor.reset();
    its_level = -1;
    compressor.reset(libdeflate_alloc_compressor(level));
    if (!compressor) throw std::bad_alloc();  // the only failure with a level that exists
    its_level = level;
  }
  return *compressor;
}

// For each level of zlib, that of libdeflate whose output is about as small for segmentations: its
// own level 6 would take a quarter more than zlib's.
constexpr std::array<int, 10> kLevels{0, 1, 2, 3, 4, 5, 7, 8, 8, 9};

ByteVector Deflate(const Container& container, ByteSpan plain, int level) {
  const auto of_zlib = static_cast<std::size_t>(std::clamp(level, 0, 9));
  libdeflate_compressor& compressor = CompressorOf(kLevels[of_zlib]);
  const std::size_t most = container.compress_bound(&compressor, plain.size());
  const auto stored = std::make_unique_for_overwrite<std::uint8_t[]>(most);
  const std::size_t size =
      container.compress(&compressor, plain.data(), plain.size(), stored.get(), most);
  return {stored.get(), stored.get() + size};
}

template <const Container& container>
Result<BytesCodecPtr> MakeCodecOf(const std::string& name, const CodecOptions& options,
                                  int level_if_absent) {
  const auto decode = [](ByteSpan stored, std::uint64_t max_bytes) {
    return Inflate(container, stored, max_bytes, 0);
  };
  const auto make_encoder = [&]() -> Result<Encoder> {
    UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", level_if_absent, 0, 9));
    return
        [level](ByteSpan plain) -> Result<ByteVector> { return Deflate(container, plain, level); };
  };
  return MakeCompressor(name, decode, make_encoder());
}

}  // namespace

Result<ByteVector> GzipDecode(ByteSpan stored, std::uint64_t max_bytes,
                              std::uint64_t expected_bytes) {
  return Inflate(kGzip, stored, max_bytes, expected_bytes);
}

ByteVector GzipEncode(ByteSpan plain, int level) { return Deflate(kGzip, plain, level); }

// Incompressible data are stored in blocks: by libdeflate in blocks of at least 5000 bytes, each
// with a header of 5 bytes; zlib adds 7 bytes, and less than libdeflate for each block.
std::uint64_t MaxGzipSize(std::uint64_t plain_size) {
  constexpr std::uint64_t kMinBlock = 5000;
  constexpr std::uint64_t kBlockHeader = 5;
  return plain_size + (plain_size / kMinBlock + 1) * kBlockHeader + 2 + kMinMemberSize;
}

std::optional<std::uint64_t> PlausibleGzipSize(ByteSpan trailer, std::uint64_t stored_size) {
  if (trailer.size() != 4 || stored_size < kMinMemberSize) return std::nullopt;
  const std::uint64_t claim = LoadU32Le(trailer.data());
  if (claim / kMaxRatio > stored_size) return std::nullopt;
  if (stored_size > MaxGzipSize(claim)) return std::nullopt;
  return claim;
}

// Without a level in the configuration: as TensorStore's gzip, and as numcodecs' GZip and Zlib.
Result<BytesCodecPtr> MakeGzip(const std::string& name, const CodecOptions& options) {
  return MakeCodecOf<kGzip>(name, options, name == "gzip" ? 6 : 1);
}

Result<BytesCodecPtr> MakeZlib(const std::string& name, const CodecOptions& options) {
  return MakeCodecOf<kZlib>(name, options, 1);
}

}  // namespace unshard
