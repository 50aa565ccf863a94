#include "codec/compression/compressor.h"

#include <utility>

namespace unshard {
namespace {

class Compressor final : public BytesCodec {
 public:
  Compressor(std::string name, Decoder decoder, Result<Encoder> encoder)
      : name_(std::move(name)), decoder_(decoder), encoder_(std::move(encoder)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    return decoder_(stored, max_bytes);
  }
  [[nodiscard]] Status CanEncode() const override {
    if (encoder_) return {};
    return Fail(ErrorCode::kNotSupported,
                "the codec \"" + name_ + "\" cannot encode: " + encoder_.error().message);
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    return (*encoder_)(plain);
  }

 private:
  const std::string name_;
  const Decoder decoder_;
  const Result<Encoder> encoder_;
};

// A compressor whose library this build lacks.
class MissingCompressor final : public BytesCodec {
 public:
  MissingCompressor(std::string name, Error why) : name_(std::move(name)), why_(std::move(why)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Status CanDecode() const override { return tl::unexpected<Error>(why_); }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan, std::uint64_t) const override {
    return tl::unexpected<Error>(why_);
  }
  [[nodiscard]] Status CanEncode() const override { return CanDecode(); }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan) const override {
    return tl::unexpected<Error>(why_);
  }

 private:
  const std::string name_;
  const Error why_;
};

}  // namespace

BytesCodecPtr MakeCompressor(const std::string& name, Decoder decoder, Result<Encoder> encoder) {
  return std::make_shared<Compressor>(name, decoder, std::move(encoder));
}

BytesCodecPtr MakeCompressor(const std::string& name, const CodecOptions& options,
                             const Library& library, const CompressorFunctions& functions) {
  if (library.in_build()) {
    return MakeCompressor(name, functions.decode, functions.make_encoder(options));
  }
  Error missing = NotInBuild(library, "the codec \"" + name + "\"").value();
  return std::make_shared<MissingCompressor>(name,
                                             std::move(missing).Annotate(options.codec_path()));
}

tl::unexpected<Error> Damaged(const char* format, const std::string& expected) {
  return Fail(ErrorCode::kDataLoss, std::string(format) + ": " + expected);
}

tl::unexpected<Error> DecodesToMore(const char* format, std::uint64_t max_bytes) {
  return Fail(ErrorCode::kResourceExhausted, std::string(format) + ": decodes to more than " +
                                                 std::to_string(max_bytes) + " bytes");
}

tl::unexpected<Error> NoMemory(const char* format) {
  return Fail(ErrorCode::kResourceExhausted, std::string(format) + ": out of memory");
}

tl::unexpected<Error> TooLargeToEncode(const char* format, std::uint64_t limit) {
  return Fail(ErrorCode::kResourceExhausted,
              std::string(format) + ": takes at most " + std::to_string(limit) + " bytes at once");
}

}  // namespace unshard
