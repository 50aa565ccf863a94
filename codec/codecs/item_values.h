// The values of items (integers, booleans, floats), a block of them at a time, for filters that
// compute with them. Pure; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "codec/chain/voxels.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/types/data_type.h"

namespace unshard {

// The values of some items of one type. `bits`: integers, signed ones as 64 bits of two's
// complement; `reals`: the values of the form kReal, which has no `bits`.
struct ValueBlock {
  static constexpr std::size_t kMaxItems = 512;
  enum class Form : std::uint8_t { kSigned, kUnsigned, kReal };
  Form form = Form::kUnsigned;
  std::size_t count = 0;
  std::array<std::uint64_t, kMaxItems> bits;
  std::array<double, kMaxItems> reals;

  // The values as reals, rounded to nearest: the form is kReal then.
  void MakeReal();
};

// Whether the functions below take items of this type: integers, booleans, floats of 4 and 8 bytes.
bool IsNumberType(const DataType& type);
bool IsInteger(const DataType& type);

// Requires: at most ValueBlock::kMaxItems items of a type for which IsNumberType is true.
void LoadValues(ByteSpan items, const DataType& type, ValueBlock& block);
// Converts as NumPy does: integers keep their lower bits, reals are truncated towards zero. Returns
// how many items were stored: it ends at the first real that lies outside of an integer type,
// where NumPy leaves the result undefined.
std::size_t StoreValues(const ValueBlock& block, const DataType& type, std::uint8_t* to);

// Calls `visit` with an item of the C++ type of `type`, a boolean as a byte. Requires:
// IsNumberType.
template <class Visit>
auto VisitItemType(const DataType& type, const Visit& visit) {
  using Kind = DataType::Kind;
  const bool is_signed = type.kind == Kind::kSigned;
  switch (type.size) {
    case 1:
      return is_signed ? visit(std::int8_t()) : visit(std::uint8_t());
    case 2:
      return is_signed ? visit(std::int16_t()) : visit(std::uint16_t());
    case 4:
      if (type.kind == Kind::kFloat) return visit(float());
      return is_signed ? visit(std::int32_t()) : visit(std::uint32_t());
    default:
      if (type.kind == Kind::kFloat) return visit(double());
      return is_signed ? visit(std::int64_t()) : visit(std::uint64_t());
  }
}

// Each of `items`, of the C++ type Item, becomes what `compute` makes of it.
template <class Item, class Compute>
void ReplaceItems(std::span<std::uint8_t> items, const Compute& compute) {
  for (std::size_t at = 0; at < items.size(); at += sizeof(Item)) {
    StoreLe<Item>(&items[at], compute(LoadLe<Item>(&items[at])));
  }
}

// Voxels of the type `to`, and the same shape: each item the value that `compute` makes of that of
// `from`. Fails with `code`, naming the codec and the item, where a value does not fit in the type.
Result<Voxels> ConvertValues(const Voxels& from, const DataType& to,
                             const std::function<void(ValueBlock&)>& compute, ErrorCode code,
                             const std::string& codec);

}  // namespace unshard
