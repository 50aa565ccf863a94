// `conditional` of Zarr v3 (zarr-extensions): bytes-to-bytes codecs of which each chunk has some.
//
// A header of header_bits / 8 bytes, little-endian, precedes the bytes: bit i is 1 where codec i
// has encoded them. A chunk is encoded by each codec that makes it smaller.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"

namespace unshard {
namespace {

constexpr std::int64_t kMostCodecs = 64;

class Conditional final : public BytesToBytesCodec {
 public:
  Conditional(std::string name, std::vector<BytesCodecPtr> codecs, std::size_t header_bytes)
      : name_(std::move(name)), codecs_(std::move(codecs)), header_bytes_(header_bytes) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Status CanDecode() const override {
    for (const auto& codec : codecs_) UNSHARD_RETURN_IF_ERROR(codec->CanDecode());
    return {};
  }
  [[nodiscard]] Status CanEncode() const override {
    for (const auto& codec : codecs_) UNSHARD_RETURN_IF_ERROR(codec->CanEncode());
    return {};
  }

  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    const auto is_set = [&](std::size_t bit) { return (stored[bit / 8] >> (bit % 8) & 1) != 0; };
    if (stored.size() < header_bytes_) {
      return Fail(ErrorCode::kDataLoss, "conditional: expected a header of ", header_bytes_,
                  " bytes, found ", stored.size());
    }
    for (std::size_t bit = codecs_.size(); bit < 8 * header_bytes_; ++bit) {
      if (!is_set(bit)) continue;
      return Fail(ErrorCode::kDataLoss, "conditional: the header names codec ", bit, " of ",
                  codecs_.size());
    }
    const ByteSpan rest = stored.subspan(header_bytes_);
    if (rest.size() > max_bytes + kMostMore) {
      return Fail(ErrorCode::kResourceExhausted, "conditional: more than ", max_bytes, " bytes");
    }
    ByteVector bytes(rest.begin(), rest.end());
    for (std::size_t i = codecs_.size(); i-- > 0;) {
      if (!is_set(i)) continue;
      UNSHARD_ASSIGN_OR_RETURN(bytes,
                               codecs_[i]->Decode(bytes, max_bytes + (i > 0 ? kMostMore : 0)));
    }
    return bytes;
  }

  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector header(header_bytes_, 0), bytes(plain.begin(), plain.end());
    for (std::size_t i = 0; i < codecs_.size(); ++i) {
      UNSHARD_ASSIGN_OR_RETURN(ByteVector encoded, codecs_[i]->Encode(bytes));
      if (encoded.size() >= bytes.size()) continue;
      bytes = std::move(encoded);
      header[i / 8] = static_cast<std::uint8_t>(header[i / 8] | 1u << (i % 8));
    }
    header.insert(header.end(), bytes.begin(), bytes.end());
    return header;
  }

 private:
  // What the codecs before the last one may have added.
  static constexpr std::uint64_t kMostMore = 1 << 16;

  const std::string name_;
  const std::vector<BytesCodecPtr> codecs_;
  const std::size_t header_bytes_;
};

Result<BytesCodecPtr> BindConditional(const CodecSpec& spec, std::uint32_t item_size) {
  const ChainSpec* const chain = spec.FindChain(kInnerCodecs);
  if (chain == nullptr || chain->size() > static_cast<std::size_t>(kMostCodecs)) {
    return Fail(ErrorCode::kDataLoss, spec.at(), ": expected `codecs`, at most ", kMostCodecs);
  }
  std::vector<BytesCodecPtr> codecs;
  for (const CodecSpec& each : *chain) {
    UNSHARD_ASSIGN_OR_RETURN(codecs.emplace_back(),
                             BindBytesToBytes(each, codecs.empty() ? item_size : 0));
    if (codecs.back()) continue;
    return Fail(ErrorCode::kNotSupported, each.at(),
                " is not supported here; expected codecs of bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto bits, spec.options().Find("header_bits"));
  std::uint64_t header = (codecs.size() + 7) / 8 * 8;
  if (bits) {
    UNSHARD_ASSIGN_OR_RETURN(header, bits->Unsigned(0, kMostCodecs));
    if (header % 8 != 0 || header < codecs.size()) {
      return bits->Expected("a multiple of 8, at least the number of codecs");
    }
  }
  return std::make_shared<Conditional>(spec.name, std::move(codecs), header / 8);
}

}  // namespace

const CodecDefinition& ConditionalCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "conditional"}};
  static constexpr CodecOption kOptions[] = {{.name = kInnerCodecs, .chain_dimensions = 0},
                                             {"header_bits"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindConditional, kOptions};
  return kDefinition;
}

}  // namespace unshard
