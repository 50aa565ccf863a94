#include "codec/codecs/item_values.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace unshard {
namespace {

using Kind = DataType::Kind;
using Form = ValueBlock::Form;

// A value of the block; `Value` is the type of its form.
template <class Value>
Value ValueAt(const ValueBlock& block, std::size_t i) {
  if constexpr (std::is_same_v<Value, double>) {
    return block.reals[i];
  } else {
    return static_cast<Value>(block.bits[i]);
  }
}

// Calls `visit` with a value of the type of the form.
template <class Visit>
auto VisitForm(Form form, const Visit& visit) {
  if (form == Form::kReal) return visit(double());
  return form == Form::kSigned ? visit(std::int64_t()) : visit(std::uint64_t());
}

template <class Item, class Value>
std::size_t Store(const ValueBlock& block, std::uint8_t* to) {
  for (std::size_t i = 0; i < block.count; ++i) {
    const auto value = ValueAt<Value>(block, i);
    if constexpr (std::is_same_v<Value, double> && std::is_integral_v<Item>) {
      // The bounds are powers of two, or 0, so both are exact.
      constexpr int kBits = 8 * static_cast<int>(sizeof(Item)) - (std::is_signed_v<Item> ? 1 : 0);
      const double end = std::ldexp(1.0, kBits);
      const double whole = std::trunc(value);
      if (!(whole >= (std::is_signed_v<Item> ? -end : 0.0) && whole < end)) return i;  // NaN, too
      StoreLe(to + i * sizeof(Item), static_cast<Item>(whole));
    } else {
      StoreLe(to + i * sizeof(Item), static_cast<Item>(value));
    }
  }
  return block.count;
}

std::size_t StoreBooleans(const ValueBlock& block, std::uint8_t* to) {
  VisitForm(block.form, [&](auto form) {
    for (std::size_t i = 0; i < block.count; ++i) {
      to[i] = ValueAt<decltype(form)>(block, i) == decltype(form)() ? 0 : 1;
    }
  });
  return block.count;
}

}  // namespace

void ValueBlock::MakeReal() {
  if (form == Form::kReal) return;
  VisitForm(form, [this](auto integer) {
    for (std::size_t i = 0; i < count; ++i) {
      reals[i] = static_cast<double>(static_cast<decltype(integer)>(bits[i]));
    }
  });
  form = Form::kReal;
}

bool IsInteger(const DataType& type) {
  return type.kind == Kind::kSigned || type.kind == Kind::kUnsigned;
}

bool IsNumberType(const DataType& type) {
  const bool is_float = type.kind == Kind::kFloat && (type.size == 4 || type.size == 8);
  return is_float || type.kind == Kind::kBool || IsInteger(type);
}

void LoadValues(ByteSpan items, const DataType& type, ValueBlock& block) {
  block.count = items.size() / type.size;
  VisitItemType(type, [&](auto item) {
    using Item = decltype(item);
    constexpr bool kIsReal = std::is_floating_point_v<Item>;
    block.form = kIsReal ? Form::kReal : std::is_signed_v<Item> ? Form::kSigned : Form::kUnsigned;
    for (std::size_t i = 0; i < block.count; ++i) {
      item = LoadLe<Item>(items.data() + i * sizeof(Item));
      if constexpr (kIsReal) {
        block.reals[i] = static_cast<double>(item);
      } else {
        block.bits[i] = static_cast<std::uint64_t>(item);
      }
    }
  });
  if (type.kind != Kind::kBool) return;
  for (std::size_t i = 0; i < block.count; ++i) block.bits[i] = block.bits[i] != 0 ? 1 : 0;
}

std::size_t StoreValues(const ValueBlock& block, const DataType& type, std::uint8_t* to) {
  if (type.kind == Kind::kBool) return StoreBooleans(block, to);
  return VisitItemType(type, [&](auto item) {
    return VisitForm(block.form,
                     [&](auto value) { return Store<decltype(item), decltype(value)>(block, to); });
  });
}

Result<Voxels> ConvertValues(const Voxels& from, const DataType& to,
                             const std::function<void(ValueBlock&)>& compute, ErrorCode code,
                             const std::string& codec) {
  const std::size_t count = from.bytes().size() / from.type().size;
  ByteVector converted(count * to.size);
  ValueBlock block;
  for (std::size_t begin = 0; begin < count; begin += block.count) {
    const std::size_t some = std::min(count - begin, ValueBlock::kMaxItems);
    LoadValues(from.bytes().subspan(begin * from.type().size, some * from.type().size), from.type(),
               block);
    compute(block);
    const std::size_t stored = StoreValues(block, to, converted.data() + begin * to.size);
    if (stored == block.count) continue;
    return Fail(code, codec, ": item ", begin + stored, ": ", std::to_string(block.reals[stored]),
                " does not fit in ", DataTypeName(to));
  }
  return Voxels::Make(to, from.shape(), std::move(converted));
}

}  // namespace unshard
