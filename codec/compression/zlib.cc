#include "codec/compression/zlib.h"

#include <zlib.h>

#include <memory>

#include "codec/compression/compressor.h"

namespace unshard {
namespace {

Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return NoMemory("zlib");
  const auto close = [](z_stream* open) { inflateEnd(open); };
  const std::unique_ptr<z_stream, decltype(close)> closer(&stream, close);
  std::size_t read = 0;
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<DecodeProgress> {
    const unsigned input = Clamp32(stored.size() - read);
    const unsigned output = Clamp32(room);
    stream.next_in = Unconst<Bytef>(stored.data() + read);
    stream.avail_in = input;
    stream.next_out = at;
    stream.avail_out = output;
    const int status = inflate(&stream, Z_NO_FLUSH);
    read += input - stream.avail_in;
    const DecodeProgress progress{output - stream.avail_out, status == Z_STREAM_END};
    if (progress.done && read != stored.size()) {
      return Damaged("zlib", "expected no bytes after the stream");
    }
    if (status == Z_BUF_ERROR) return Damaged("zlib", "the stream is cut short");
    if (status != Z_OK && !progress.done) {
      return Damaged("zlib", "expected a zlib stream");
    }
    return progress;
  };
  return DecodeInSteps("zlib", max_bytes, step);
}

Result<ByteVector> Encode(ByteSpan plain, int level) {
  uLongf size = compressBound(plain.size());
  ByteVector stored(size);
  if (compress2(stored.data(), &size, plain.data(), plain.size(), level) != Z_OK) {
    return NoMemory("zlib");
  }
  stored.resize(size);
  return stored;
}

Result<Encoder> MakeEncoder(const CodecOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 1, 0, 9));
  return [level](ByteSpan plain) { return Encode(plain, level); };
}

}  // namespace

Result<BytesCodecPtr> MakeZlib(const std::string& name, const CodecOptions& options) {
  return MakeCompressor(name, Decode, MakeEncoder(options));
}

}  // namespace unshard
