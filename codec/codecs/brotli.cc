// Brotli (RFC 7932): no document names it, but suffixes of files do.
#ifdef UNSHARD_BROTLI
#include <brotli/decode.h>
#include <brotli/encode.h>
#endif

#include <cstddef>
#include <memory>
#include <string>

#include "codec/codecs/compressor.h"
#include "codec/codecs/file_suffixes.h"

namespace unshard {
namespace {

#ifdef UNSHARD_BROTLI

constexpr int kBrotliQuality = 5;  // CloudVolume's

Result<ByteVector> DecodeBrotli(ByteSpan stored, std::uint64_t max_bytes) {
  const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> decoder(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), BrotliDecoderDestroyInstance);
  if (!decoder) return NoMemory("br");
  const std::uint8_t* input = stored.data();
  std::size_t input_left = stored.size();
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
    std::size_t room_left = room;
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder.get(), &input_left, &input, &room_left, &at, nullptr);
    if (result == BROTLI_DECODER_RESULT_ERROR) return Damaged("br", "expected a brotli stream");
    if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) {
      return Damaged("br", "the stream is cut short");
    }
    const bool done = result == BROTLI_DECODER_RESULT_SUCCESS;
    if (done && input_left != 0) return Damaged("br", "bytes follow the stream");
    return StreamProgress{room - room_left, done};
  };
  return DecodeInSteps("br", stored.size(), max_bytes, step);
}

Result<ByteVector> EncodeBrotli(ByteSpan plain) {
  std::size_t size = BrotliEncoderMaxCompressedSize(plain.size());
  if (size == 0) return TooLargeToEncode("br", std::uint64_t{1} << 30);
  ByteVector stored(size);
  if (BrotliEncoderCompress(kBrotliQuality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC,
                            plain.size(), plain.data(), &size, stored.data()) != BROTLI_TRUE) {
    return NoMemory("br");
  }
  stored.resize(size);
  return stored;
}

Result<Encoder> MakeBrotliEncoder(const CodecOptions&, std::uint32_t) {
  return Encoder(EncodeBrotli);
}

std::string BrotliVersion() {
  const std::uint32_t version = BrotliEncoderVersion();  // 8, 12 and 12 bits
  return std::to_string(version >> 24) + "." + std::to_string(version >> 12 & 0xfff) + "." +
         std::to_string(version & 0xfff);
}

constexpr LibraryCompressor kBrotli = {
    {"br", "libbrotli", BrotliVersion}, DecodeBrotli, MakeBrotliEncoder};

#else
constexpr LibraryCompressor kBrotli = {{"br", "libbrotli"}};
#endif

}  // namespace

const Library& Libbrotli() { return kBrotli.library; }

BytesCodecPtr MakeBrotli() { return MakeCompressor(CodecOfZarr3("br"), 0, kBrotli); }

}  // namespace unshard
