#include "codec/zarr3/check.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/core/byte_range.h"
#include "codec/core/text.h"
#include "codec/json/cursor.h"
#include "codec/types/data_type.h"

namespace unshard {
namespace {

using BytesCodecs = std::vector<BytesCodecPtr>;

// Data types whose configuration has the size of a value.
constexpr std::array<std::string_view, 3> kSizedTypes = {"fixed_length_utf32",
                                                         "null_terminated_bytes", "raw_bytes"};

// Array-to-array codecs that change neither the number of values nor their size.
constexpr std::array<std::string_view, 3> kSizePreserving = {"transpose", "bitround",
                                                             "numcodecs.bitround"};

// The bytes of one value; nothing where they vary or the type is not known.
std::optional<std::uint64_t> FixedItemSize(const JsonValue& data_type) {
  const JsonValue* name = data_type.Find("name");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  if (const auto size = DataTypeSize(DataTypeDialect::kZarr, name->text())) return size;
  if (const auto raw = FindDataType(DataTypeDialect::kZarr, name->text())) return raw->size;
  if (!IsOneOf(kSizedTypes, name->text())) return std::nullopt;
  const JsonValue* configuration = data_type.Find("configuration");
  const JsonValue* length =
      configuration != nullptr ? configuration->Find("length_bytes") : nullptr;
  if (length == nullptr) return std::nullopt;
  const auto bytes = JsonCursor(*length, "").Unsigned(1, std::uint64_t{1} << 32);
  return bytes ? std::optional(*bytes) : std::nullopt;
}

// The length of one chunk after the codec "bytes", which is at position `bytes` of the chain;
// nothing where another codec is there, or one before it may change the length.
std::optional<std::uint64_t> PlainSize(const ChainSpec& chain, std::size_t bytes,
                                       const std::vector<std::uint64_t>& chunk_shape,
                                       const JsonValue& data_type) {
  if (chain[bytes].name != "bytes") return std::nullopt;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (!IsOneOf(kSizePreserving, chain[i].name)) return std::nullopt;
  }
  const auto item_size = FixedItemSize(data_type);
  const auto items = CheckedProduct(chunk_shape);
  return item_size && items ? CheckedMultiply(*item_size, *items) : std::nullopt;
}

class ZarrChunkCheck final : public ChunkCheck {
 public:
  // `codecs`: the known codecs at the end of the chain, in its order.
  ZarrChunkCheck(std::optional<std::uint64_t> plain_size, BytesCodecs codecs)
      : plain_size_(plain_size), fixed_size_(plain_size), codecs_(std::move(codecs)) {
    for (const auto& codec : codecs_) {
      const auto overhead = codec->fixed_overhead();
      fixed_size_ = fixed_size_ && overhead ? CheckedAdd(*fixed_size_, *overhead) : std::nullopt;
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> /*cell*/) const override {
    return fixed_size_;
  }

  // Decoding takes the whole chunk. A chunk that is too large is not decoded.
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    const bool decoded =
        !codecs_.empty() && size <= kMaxCheckedBytes && plain_size_.value_or(0) <= kMaxCheckedBytes;
    return decoded ? size : 0;
  }

  [[nodiscard]] Status Check(std::span<const std::uint64_t> /*cell*/, std::uint64_t size,
                             ByteSpan start) const override {
    if (size == 0) return RefuseEmptyChunk();
    if (fixed_size_ && size != *fixed_size_) return RefuseChunkSize("chunk", *fixed_size_, size);
    const std::uint64_t needed = NeededBytes(size);
    if (needed == 0) return {};
    if (start.size() < needed) {
      return RefuseChunk("chunk", "expected all of its " + std::to_string(needed) +
                                      " bytes, found " + std::to_string(start.size()));
    }
    return CheckDecoding(start.first(needed));
  }

 private:
  [[nodiscard]] Status CheckDecoding(ByteSpan stored) const {
    ByteVector decoded;
    for (auto codec = codecs_.rbegin(); codec != codecs_.rend(); ++codec) {
      auto next = (*codec)->Decode(stored, MostDecoded(codec));
      if (!next && next.error().code == ErrorCode::kResourceExhausted && !plain_size_) return {};
      if (!next) return RefuseChunk("chunk", next.error().message);
      decoded = *std::move(next);
      stored = decoded;
    }
    if (plain_size_ && stored.size() != *plain_size_) {
      return RefuseChunk("chunk", "expected it to decode to exactly " +
                                      std::to_string(*plain_size_) + " bytes, found " +
                                      std::to_string(stored.size()));
    }
    return {};
  }

  // The codec that is decoded last gives the values; what lies between two codecs may be larger.
  [[nodiscard]] std::uint64_t MostDecoded(BytesCodecs::const_reverse_iterator codec) const {
    return std::next(codec) == codecs_.rend() ? plain_size_.value_or(kMaxCheckedBytes)
                                              : 2 * kMaxCheckedBytes;
  }

  const std::optional<std::uint64_t> plain_size_;
  std::optional<std::uint64_t> fixed_size_;
  const BytesCodecs codecs_;
};

}  // namespace

std::shared_ptr<const ChunkCheck> MakeZarrChunkCheck(const ChainSpec& chain,
                                                     const std::vector<std::uint64_t>& chunk_shape,
                                                     const JsonValue& data_type) {
  BytesCodecs known;
  std::size_t first_known = chain.size();
  while (first_known > 0) {
    const CodecSpec& codec = chain[first_known - 1];
    auto made = BindBytesToBytes(codec);
    if (!made || *made == nullptr || !(*made)->CanDecode()) break;
    known.insert(known.begin(), *std::move(made));
    --first_known;
  }
  std::optional<std::uint64_t> plain_size;
  if (first_known > 0) plain_size = PlainSize(chain, first_known - 1, chunk_shape, data_type);
  return std::make_shared<ZarrChunkCheck>(plain_size, std::move(known));
}

}  // namespace unshard
