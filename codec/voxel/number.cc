#include "codec/voxel/number.h"

#include <bit>
#include <cmath>

namespace unshard {
namespace {

using Kind = DataType::Kind;

std::uint64_t LoadOrdered(const std::uint8_t* at, const NumpyType& type) {
  if (!type.big_endian) return LoadBits(at, type.type.size);
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < type.type.size; ++i) bits = bits << 8 | at[i];
  return bits;
}

void StoreOrdered(std::uint64_t bits, const NumpyType& type, std::uint8_t* at) {
  if (!type.big_endian) return StoreBits(at, type.type.size, bits);
  for (std::uint32_t i = type.type.size; i-- > 0; bits >>= 8) {
    at[i] = static_cast<std::uint8_t>(bits);
  }
}

// A real truncated to an integer of the type; nothing where it lies outside of the type.
std::optional<std::uint64_t> Truncated(double real, const DataType& type) {
  const double whole = std::trunc(real);
  const int bits = static_cast<int>(8 * type.size);
  const bool is_signed = type.kind == Kind::kSigned;
  const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double first = is_signed ? -end : 0.0;
  if (!(whole >= first && whole < end)) return std::nullopt;  // also NaN
  if (whole < 0) return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  return static_cast<std::uint64_t>(whole);
}

std::uint64_t FloatBits(const Number& number) {
  float value = 0;
  switch (number.form) {
    case Number::Form::kSigned: {
      value = static_cast<float>(static_cast<std::int64_t>(number.bits));
      break;
    }
    case Number::Form::kUnsigned:
      value = static_cast<float>(number.bits);
      break;
    case Number::Form::kReal:
      value = static_cast<float>(number.real);
      break;
  }
  return std::bit_cast<std::uint32_t>(value);
}

bool IsZero(const Number& number) {
  return number.form == Number::Form::kReal ? number.real == 0 : number.bits == 0;
}

}  // namespace

std::uint64_t LoadBits(const std::uint8_t* at, std::uint32_t size) {
  std::uint64_t bits = 0;
  for (std::uint32_t i = size; i-- > 0;) bits = bits << 8 | at[i];
  return bits;
}

void StoreBits(std::uint8_t* at, std::uint32_t size, std::uint64_t bits) {
  for (std::uint32_t i = 0; i < size; ++i) at[i] = static_cast<std::uint8_t>(bits >> (8 * i));
}

std::uint64_t ExtendInteger(std::uint64_t bits, const DataType& type) {
  const unsigned shift = 64 - 8 * type.size;
  if (type.kind != Kind::kSigned) return bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift);
}

double Number::ToReal() const {
  if (form == Form::kReal) return real;
  if (form == Form::kUnsigned) return static_cast<double>(bits);
  return static_cast<double>(static_cast<std::int64_t>(bits));
}

bool IsNumberType(const DataType& type) {
  const bool is_float = type.kind == Kind::kFloat && type.size >= 4;
  return is_float || type.kind == Kind::kBool || type.kind == Kind::kSigned ||
         type.kind == Kind::kUnsigned;
}

Number LoadNumber(const std::uint8_t* at, const NumpyType& type) {
  const std::uint64_t bits = LoadOrdered(at, type);
  switch (type.type.kind) {
    case Kind::kFloat:
      return {Number::Form::kReal, 0,
              type.type.size == 4
                  ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                  : std::bit_cast<double>(bits)};
    case Kind::kSigned:
      return {Number::Form::kSigned, ExtendInteger(bits, type.type), 0};
    case Kind::kBool:
      return {Number::Form::kUnsigned, bits != 0 ? std::uint64_t{1} : std::uint64_t{0}, 0};
    default:
      return {Number::Form::kUnsigned, bits, 0};
  }
}

bool StoreNumber(const Number& number, const NumpyType& type, std::uint8_t* at) {
  std::uint64_t bits = number.bits;
  if (type.type.kind == Kind::kBool) {
    bits = IsZero(number) ? 0 : 1;
  } else if (type.type.kind == Kind::kFloat) {
    bits = type.type.size == 4 ? FloatBits(number) : std::bit_cast<std::uint64_t>(number.ToReal());
  } else if (number.form == Number::Form::kReal) {
    const auto whole = Truncated(number.real, type.type);
    if (!whole) return false;
    bits = *whole;
  }
  StoreOrdered(bits, type, at);
  return true;
}

Result<NumpyType> ParseItemType(const CodecOptions& options, const char* key,
                                const std::optional<NumpyType>& absent, const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, options.Find(key));
  if (found.empty() && absent) return *absent;
  if (found.empty()) {
    return Fail(ErrorCode::kDataLoss, path + ": expected the member \"" + std::string(key) + "\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, found.front().String());
  if (const auto type = ParseNumpyType(name)) return *type;
  // NumPy's other names, which are those of Zarr v3.
  if (const auto type = FindDataType(DataTypeDialect::kZarr, name)) return NumpyType{*type, false};
  return Fail(ErrorCode::kNotSupported,
              found.front().path() + ": unsupported data type \"" + name + "\"");
}

tl::unexpected<Error> NotWholeItems(ErrorCode code, const std::string& name, const NumpyType& type,
                                    ByteSpan items) {
  return Fail(code, name + ": expected a multiple of " + std::to_string(type.type.size) +
                        " bytes, found " + std::to_string(items.size()));
}

}  // namespace unshard
