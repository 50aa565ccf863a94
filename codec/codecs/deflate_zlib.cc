#include <zlib.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "codec/codecs/compressor.h"
#include "codec/codecs/deflate.h"

namespace unshard {
namespace {

constexpr int kLargestWindow = 15;

// The window as zlib takes it together with the container.
int WindowOf(DeflateContainer container) {
  return kLargestWindow + (container == DeflateContainer::kGzip ? 16 : 0);
}

// Why zlib refuses a stream it says in words only.
InflateStream::State FailureOf(const z_stream& stream) {
  const std::string_view message = stream.msg == nullptr ? "" : stream.msg;
  if (message == "incorrect data check" || message == "incorrect length check") {
    return InflateStream::State::kBadChecksum;
  }
  for (const std::string_view part : {"header", "compression method", "window size"}) {
    if (message.find(part) != std::string_view::npos) return InflateStream::State::kBadHeader;
  }
  return InflateStream::State::kBadData;
}

class ZlibInflate final : public InflateStream {
 public:
  explicit ZlibInflate(DeflateContainer container) {
    if (inflateInit2(&stream_, WindowOf(container)) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibInflate() override { inflateEnd(&stream_); }
  ZlibInflate(const ZlibInflate&) = delete;
  ZlibInflate& operator=(const ZlibInflate&) = delete;

  void Begin(ByteSpan stored) override {
    inflateReset(&stream_);
    stored_ = stored;
    fed_ = 0;
    stream_.avail_in = 0;
  }

  Step Inflate(std::span<std::uint8_t> room) override {
    if (stream_.avail_in == 0) {
      stream_.next_in = Unconst<Bytef>(stored_.data() + fed_);
      stream_.avail_in = Clamp32(stored_.size() - fed_);
      fed_ += stream_.avail_in;
    }
    const unsigned size = Clamp32(room.size());
    stream_.next_out = room.data();
    stream_.avail_out = size;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t written = size - stream_.avail_out;
    if (code == Z_STREAM_END) return {written, State::kEnd};
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code == Z_NEED_DICT) return {written, State::kBadHeader};
    if (code != Z_OK && code != Z_BUF_ERROR) return {written, FailureOf(stream_)};
    const bool at_end = stream_.avail_in == 0 && fed_ == stored_.size();
    return {written, written < size && at_end ? State::kCutShort : State::kMore};
  }

  [[nodiscard]] std::size_t size() const override { return fed_ - stream_.avail_in; }

 private:
  ByteSpan stored_;
  std::size_t fed_ = 0;  // of stored_: bytes that were given to the library
  z_stream stream_{};
};

class ZlibCompressor {
 public:
  ZlibCompressor(DeflateContainer container, int level) : container_(container), level_(level) {
    constexpr int kMemoryLevel = 8;  // zlib's default
    if (deflateInit2(&stream_, level, Z_DEFLATED, WindowOf(container), kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~ZlibCompressor() { deflateEnd(&stream_); }
  ZlibCompressor(const ZlibCompressor&) = delete;
  ZlibCompressor& operator=(const ZlibCompressor&) = delete;

  [[nodiscard]] bool Makes(DeflateContainer container, int level) const {
    return container == container_ && level == level_;
  }

  ByteVector Deflate(ByteSpan plain) {
    deflateReset(&stream_);
    ByteVector stored(deflateBound(&stream_, plain.size()));
    std::size_t read = 0;
    std::size_t written = 0;
    for (int code = Z_OK; code != Z_STREAM_END;) {
      if (written == stored.size()) stored.resize(2 * written);
      const unsigned input = Clamp32(plain.size() - read);
      const unsigned output = Clamp32(stored.size() - written);
      stream_.next_in = Unconst<Bytef>(plain.data() + read);
      stream_.avail_in = input;
      stream_.next_out = stored.data() + written;
      stream_.avail_out = output;
      code = deflate(&stream_, read + input == plain.size() ? Z_FINISH : Z_NO_FLUSH);
      read += input - stream_.avail_in;
      written += output - stream_.avail_out;
    }
    return {stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(written)};
  }

 private:
  const DeflateContainer container_;
  const int level_;
  z_stream stream_{};
};

std::unique_ptr<InflateStream> MakeZlibInflate(DeflateContainer container) {
  return std::make_unique<ZlibInflate>(container);
}

// Each thread keeps its last compressor: it encodes for one dataset, with one level.
ByteVector DeflateByZlib(DeflateContainer container, ByteSpan plain, int level) {
  thread_local std::unique_ptr<ZlibCompressor> last;
  level = std::clamp(level, 0, 9);
  if (!last || !last->Makes(container, level)) {
    last.reset();
    last = std::make_unique<ZlibCompressor>(container, level);
  }
  return last->Deflate(plain);
}

// zlib takes a null pointer, which no bytes may have, for a request of the initial value.
std::uint32_t Crc32ByZlib(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return static_cast<std::uint32_t>(crc32_z(checksum, bytes.data(), bytes.size()));
}

std::uint32_t Adler32ByZlib(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return static_cast<std::uint32_t>(adler32_z(checksum, bytes.data(), bytes.size()));
}

constexpr Library kZlib = {"", "zlib", [] { return std::string(zlibVersion()); }};
constexpr DeflateFunctions kZlibFunctions = {&kZlib, MakeZlibInflate, DeflateByZlib, Crc32ByZlib,
                                             Adler32ByZlib};

}  // namespace

const Library& Zlib() { return kZlib; }

const DeflateFunctions& ZlibDeflate() { return kZlibFunctions; }

}  // namespace unshard
