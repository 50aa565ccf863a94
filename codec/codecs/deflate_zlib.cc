#include <zlib.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "codec/codecs/deflate.h"

namespace unshard {
namespace {

constexpr int kMaxWindow = 15;

// The window as zlib takes it together with the container.
int WindowOf(DeflateContainer container) {
  return kMaxWindow + (container == DeflateContainer::kGzip ? 16 : 0);
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

  void Reset() override { inflateReset(&stream_); }

  Step Inflate(StreamInput& input, std::span<std::uint8_t> room) override {
    int code = Z_OK;
    const std::size_t written = input.Feed(stream_, room.data(), room.size(),
                                           [&](bool) { code = inflate(&stream_, Z_NO_FLUSH); });
    if (code == Z_STREAM_END) return {written, State::kEnd};
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code == Z_NEED_DICT) return {written, State::kBadHeader};
    if (code != Z_OK && code != Z_BUF_ERROR) return {written, FailureOf(stream_)};
    return {written, State::kMore};
  }

 private:
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
    StreamInput input(plain);
    const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
      int code = Z_OK;
      const std::size_t written = input.Feed(stream_, at, room, [&](bool is_all) {
        code = deflate(&stream_, is_all ? Z_FINISH : Z_NO_FLUSH);
      });
      return StreamProgress{written, code == Z_STREAM_END};
    };
    return *EncodeInSteps("zlib", deflateBound(&stream_, plain.size()), step);
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
