// `vlen-utf8` and `vlen-bytes` of Zarr v3: texts, or strings of bytes. Chunks are checked, and not
// decoded.
//
// All integers are little-endian, of 4 bytes: the number of items, and of each item in C order its
// length and its bytes. Nothing follows the last one.
#include <memory>
#include <string_view>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"
#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

constexpr std::uint64_t kNumberSize = 4;

class ItemsOfAnyLength final : public ArrayToBytesCodec {
 public:
  explicit ItemsOfAnyLength(const CodecSpec& spec)
      : name_(spec.definition->names.front().name), at_(spec.at()) {}

  [[nodiscard]] Status CanDecode() const override {
    return Fail(ErrorCode::kNotSupported, at_, " holds items that are no voxels");
  }
  [[nodiscard]] Result<ByteVector> Encode(Voxels /*decoded*/) const override {
    return tl::unexpected<Error>(CanDecode().error());
  }
  [[nodiscard]] Result<Voxels> Decode(ByteSpan /*encoded*/, ShapeSpan /*shape*/) const override {
    return tl::unexpected<Error>(CanDecode().error());
  }
  [[nodiscard]] JsonValue DecodingKey() const override { return JsonValue::String(name_); }
  [[nodiscard]] std::string_view subject() const override { return name_; }

  // The lengths are between the items.
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return size <= kMaxCheckedBytes ? size : 0;
  }
  [[nodiscard]] Status CheckStart(ByteSpan start, std::uint64_t size,
                                  ShapeSpan shape) const override {
    if (size > kMaxCheckedBytes) return {};
    if (start.size() < size) {
      return RefuseChunk(name_, "expected all of its ", size, " bytes, found ", start.size());
    }
    const auto expected = CheckedProduct(shape);
    if (size < kNumberSize) return RefuseChunk(name_, "expected a number of items");
    const std::uint64_t count = LoadLe(start.data(), kNumberSize);
    if (count != expected) {
      return RefuseChunk(name_, "expected ", expected.value_or(0), " items, found ", count);
    }
    ByteSpan rest = start.first(size).subspan(kNumberSize);
    for (std::uint64_t item = 0; item < count; ++item) {
      const bool has_length = rest.size() >= kNumberSize;
      const std::uint64_t length = has_length ? LoadLe(rest.data(), kNumberSize) : 0;
      if (!has_length || length > rest.size() - kNumberSize) {
        return RefuseChunk(name_, "item ", item, " reaches beyond the end of the chunk");
      }
      rest = rest.subspan(kNumberSize + length);
    }
    if (rest.empty()) return {};
    return RefuseChunk(name_, "expected nothing after the last item, found ", rest.size(),
                       " bytes");
  }

 private:
  const std::string name_;
  const std::string at_;
};

Result<ArrayToBytesCodecPtr> BindItemsOfAnyLength(const CodecSpec& spec,
                                                  const ArrayRepresentation& /*decoded*/) {
  return std::make_shared<ItemsOfAnyLength>(spec);
}

template <const char* const& kName>
const CodecDefinition& DefinitionOf() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, kName}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames, .bind = &BindItemsOfAnyLength, .takes_any_length = true};
  return kDefinition;
}

constexpr const char* kVlenUtf8 = "vlen-utf8";
constexpr const char* kVlenBytes = "vlen-bytes";

}  // namespace

const CodecDefinition& VlenUtf8Codec() { return DefinitionOf<kVlenUtf8>(); }

const CodecDefinition& VlenBytesCodec() { return DefinitionOf<kVlenBytes>(); }

}  // namespace unshard
