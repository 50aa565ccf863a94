// numcodecs' shuffle: the first bytes of all elements, then the second ones, and so on.
#include <string>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

class Shuffle final : public BytesToBytesCodec {
 public:
  Shuffle(std::string name, std::size_t element_size)
      : name_(std::move(name)), element_size_(element_size) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() > max_bytes) return DecodesToMore("shuffle", max_bytes);
    if (stored.size() % element_size_ != 0) return NotWhole(ErrorCode::kDataLoss, stored.size());
    ByteVector plain(stored.size());
    const std::size_t count = stored.size() / element_size_;
    for (std::size_t byte = 0; byte < element_size_; ++byte) {
      for (std::size_t i = 0; i < count; ++i) {
        plain[i * element_size_ + byte] = stored[byte * count + i];
      }
    }
    return plain;
  }

  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    if (plain.size() % element_size_ != 0) {
      return NotWhole(ErrorCode::kInvalidArgument, plain.size());
    }
    ByteVector stored(plain.size());
    const std::size_t count = plain.size() / element_size_;
    for (std::size_t byte = 0; byte < element_size_; ++byte) {
      for (std::size_t i = 0; i < count; ++i) {
        stored[byte * count + i] = plain[i * element_size_ + byte];
      }
    }
    return stored;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> NotWhole(ErrorCode code, std::size_t found) const {
    return Fail(code, "shuffle: expected a multiple of ", element_size_, " bytes, found ", found);
  }

  const std::string name_;
  const std::size_t element_size_;
};

Result<BytesCodecPtr> BindShuffle(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const int size, spec.options().Integer("elementsize"));
  return std::make_shared<Shuffle>(spec.name, static_cast<std::size_t>(size));
}

}  // namespace

const CodecDefinition& ShuffleCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "shuffle"}};
  static constexpr CodecOption kOptions[] = {{"elementsize", 1, 1 << 20, 4}};
  static constexpr CodecDefinition kDefinition{kNames, &BindShuffle, kOptions};
  return kDefinition;
}

}  // namespace unshard
