#include "codec/codecs/compressor.h"

#include <utility>

namespace unshard {
namespace {

class Compressor final : public BytesToBytesCodec {
 public:
  // A failure of `decoder`: this build lacks the library.
  Compressor(std::string name, Result<Decoder> decoder, Result<Encoder> encoder)
      : name_(std::move(name)), decoder_(std::move(decoder)), encoder_(std::move(encoder)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Status CanDecode() const override {
    return decoder_ ? Status() : tl::unexpected<Error>(decoder_.error());
  }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    UNSHARD_RETURN_IF_ERROR(CanDecode());
    return (*decoder_)(stored, max_bytes);
  }
  [[nodiscard]] Status CanEncode() const override {
    UNSHARD_RETURN_IF_ERROR(CanDecode());
    if (encoder_) return {};
    return Fail(ErrorCode::kNotSupported, "the codec \"", name_,
                "\" cannot encode: ", encoder_.error().message);
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    return (*encoder_)(plain);
  }

 private:
  const std::string name_;
  const Result<Decoder> decoder_;
  const Result<Encoder> encoder_;
};

}  // namespace

BytesCodecPtr MakeCompressor(const CodecSpec& spec, Decoder decoder, Result<Encoder> encoder) {
  return std::make_shared<Compressor>(spec.name, decoder, std::move(encoder));
}

BytesCodecPtr MakeCompressor(const CodecSpec& spec, std::uint32_t item_size,
                             const LibraryCompressor& compressor) {
  if (compressor.library.in_build()) {
    return MakeCompressor(spec, compressor.decode,
                          compressor.make_encoder(spec.options(), item_size));
  }
  const std::string codec = "the codec \"" + spec.name + "\"";
  const Error missing =
      Error(NotInBuild(compressor.library, codec).value()).Annotate(spec.json_path);
  return std::make_shared<Compressor>(spec.name, tl::unexpected<Error>(missing),
                                      tl::unexpected<Error>(missing));
}

tl::unexpected<Error> DecodesToMore(const char* format, std::uint64_t max_bytes) {
  return Fail(ErrorCode::kResourceExhausted, format, ": decodes to more than ", max_bytes,
              " bytes");
}

tl::unexpected<Error> NoMemory(const char* format) {
  return Fail(ErrorCode::kResourceExhausted, format, ": out of memory");
}

tl::unexpected<Error> TooLargeToEncode(const char* format, std::uint64_t limit) {
  return Fail(ErrorCode::kResourceExhausted, format, ": takes at most ", limit, " bytes at once");
}

}  // namespace unshard
