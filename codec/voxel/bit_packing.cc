#include "codec/voxel/bit_packing.h"

#include <algorithm>
#include <optional>

namespace unshard {
namespace {

// A bit of a component; `absent` where the member is absent or null.
Result<unsigned> ParseBit(const CodecOptions& options, const char* key, unsigned absent,
                          unsigned first, unsigned last) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, options.Find(key));
  if (found.empty() || found.front().value().is_null()) return absent;
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bit, found.front().Unsigned(first, last));
  return static_cast<unsigned>(bit);
}

// Little-endian integers of `size` bytes, at most 8.
std::uint64_t LoadBits(const std::uint8_t* at, std::uint32_t size) {
  std::uint64_t bits = 0;
  for (std::uint32_t i = size; i-- > 0;) bits = bits << 8 | at[i];
  return bits;
}

void StoreBits(std::uint8_t* at, std::uint32_t size, std::uint64_t bits) {
  for (std::uint32_t i = 0; i < size; ++i) at[i] = static_cast<std::uint8_t>(bits >> (8 * i));
}

// Bits, the lowest ones of a byte first.
class BitWriter {
 public:
  explicit BitWriter(ByteVector& to) : to_(to) {}
  void Put(std::uint64_t bits, unsigned count) {
    while (count > 0) {
      if (used_ == 0) to_.push_back(0);
      const unsigned part = std::min(count, 8 - used_);
      const std::uint64_t low = bits & ((std::uint64_t{1} << part) - 1);
      to_.back() = static_cast<std::uint8_t>(to_.back() | low << used_);
      used_ = (used_ + part) % 8;
      bits >>= part;
      count -= part;
    }
  }

 private:
  ByteVector& to_;
  unsigned used_ = 0;  // bits of the last byte
};

// Requires: not more bits are read than there are.
class BitReader {
 public:
  explicit BitReader(ByteSpan from) : from_(from) {}
  std::uint64_t Get(unsigned count) {
    std::uint64_t bits = 0;
    for (unsigned got = 0; got < count;) {
      const auto shift = static_cast<unsigned>(at_ % 8);
      const unsigned part = std::min(count - got, 8 - shift);
      const std::uint64_t low = from_[at_ / 8] >> shift & ((1U << part) - 1);
      bits |= low << got;
      got += part;
      at_ += part;
    }
    return bits;
  }

 private:
  const ByteSpan from_;
  std::size_t at_ = 0;
};

}  // namespace

Result<BitPacking> BitPacking::Parse(const DataType& type, const CodecOptions& options,
                                     const std::string& json_path) {
  if (type.kind == DataType::Kind::kRaw) {
    return Fail(ErrorCode::kNotSupported,
                json_path + ": the codec \"packbits\" does not support the data type " +
                    DataTypeName(type));
  }
  BitPacking packing(type);
  const unsigned last = packing.ComponentBits() - 1;
  UNSHARD_ASSIGN_OR_RETURN(packing.first_bit_, ParseBit(options, "first_bit", 0, 0, last));
  UNSHARD_ASSIGN_OR_RETURN(packing.last_bit_,
                           ParseBit(options, "last_bit", last, packing.first_bit_, last));
  UNSHARD_ASSIGN_OR_RETURN(const auto paddings, options.Find("padding_encoding"));
  if (paddings.empty() || paddings.front().value().is_null()) return packing;
  UNSHARD_ASSIGN_OR_RETURN(const std::string padding, paddings.front().String());
  if (padding == "first_byte") {
    packing.padding_ = Padding::kFirstByte;
  } else if (padding == "last_byte") {
    packing.padding_ = Padding::kLastByte;
  } else if (padding != "none") {
    return paddings.front().Expected("\"first_byte\", \"last_byte\" or \"none\"");
  }
  return packing;
}

std::uint64_t BitPacking::BitsOf(std::uint64_t item_count) const {
  const std::uint64_t components = type_.kind == DataType::Kind::kComplex ? 2 : 1;
  return item_count * components * PackedBits();
}

std::uint64_t BitPacking::PackedSize(std::uint64_t item_count) const {
  return (BitsOf(item_count) + 7) / 8 + (padding_ == Padding::kNotEncoded ? 0 : 1);
}

ByteVector BitPacking::Pack(ByteSpan items) const {
  const std::uint64_t count = items.size() / type_.size;
  const auto left_over = static_cast<std::uint8_t>((8 - BitsOf(count) % 8) % 8);
  ByteVector packed;
  packed.reserve(PackedSize(count));
  if (padding_ == Padding::kFirstByte) packed.push_back(left_over);
  BitWriter writer(packed);
  const std::uint32_t size = type_.ordered_size();
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - PackedBits());
  for (std::size_t at = 0; at < items.size(); at += size) {
    std::uint64_t bits = LoadBits(&items[at], size);
    if (type_.kind == DataType::Kind::kBool) bits = bits != 0 ? 1 : 0;
    writer.Put(bits >> first_bit_ & mask, PackedBits());
  }
  if (padding_ == Padding::kLastByte) packed.push_back(left_over);
  return packed;
}

std::uint64_t BitPacking::Component(std::uint64_t packed) const {
  const std::uint64_t bits = packed << first_bit_;
  const bool negative = type_.kind == DataType::Kind::kSigned && (bits >> last_bit_ & 1) != 0;
  return negative ? bits | ~std::uint64_t{0} << last_bit_ : bits;
}

Result<ByteVector> BitPacking::Unpack(ByteSpan packed, std::uint64_t item_count) const {
  if (packed.size() != PackedSize(item_count)) {
    return Fail(ErrorCode::kDataLoss, "packbits: expected " +
                                          std::to_string(PackedSize(item_count)) +
                                          " bytes, found " + std::to_string(packed.size()));
  }
  const std::uint64_t left_over = (8 - BitsOf(item_count) % 8) % 8;
  if (padding_ != Padding::kNotEncoded) {
    const bool at_start = padding_ == Padding::kFirstByte;
    const std::uint8_t found = at_start ? packed.front() : packed.back();
    if (found != left_over) {
      return Fail(ErrorCode::kDataLoss, "packbits: expected " + std::to_string(left_over) +
                                            " bits left over, found " + std::to_string(found));
    }
    packed = packed.subspan(at_start ? 1 : 0, packed.size() - 1);
  }
  ByteVector items(item_count * type_.size);
  BitReader reader(packed);
  const std::uint32_t size = type_.ordered_size();
  for (std::size_t at = 0; at < items.size(); at += size) {
    StoreBits(&items[at], size, Component(reader.Get(PackedBits())));
  }
  return items;
}

}  // namespace unshard
