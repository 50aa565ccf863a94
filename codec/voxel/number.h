// The values of items (integers, booleans, floats), for filters that compute with them. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "codec/compression/codec_options.h"
#include "codec/core/bytes.h"
#include "codec/types/data_type.h"

namespace unshard {

// One value, whatever the type of its item.
struct Number {
  enum class Form : std::uint8_t { kSigned, kUnsigned, kReal };
  Form form = Form::kUnsigned;
  std::uint64_t bits = 0;  // of an integer; a signed one as 64 bits of two's complement
  double real = 0;

  [[nodiscard]] double ToReal() const;
};

// Whether the functions below take items of this type: integers, booleans, floats of 4 and 8 bytes.
bool IsNumberType(const DataType& type);

// `at` has the bytes of one item. Requires: IsNumberType(type.type).
Number LoadNumber(const std::uint8_t* at, const NumpyType& type);
// Converts as NumPy does: integers keep their lower bits, reals are truncated towards zero. False,
// with nothing stored, where a real lies outside of an integer type: NumPy leaves the result
// undefined.
bool StoreNumber(const Number& number, const NumpyType& type, std::uint8_t* at);

// The integer of type.size bytes in `bits`, extended by its sign to 64 bits.
std::uint64_t ExtendInteger(std::uint64_t bits, const DataType& type);

// Little-endian integers of `size` bytes, at most 8.
std::uint64_t LoadBits(const std::uint8_t* at, std::uint32_t size);
void StoreBits(std::uint8_t* at, std::uint32_t size, std::uint64_t bits);

// The type in the member `key` of a filter. Where that is absent: `absent`, or, without one,
// kDataLoss. Fails with kNotSupported for types that are not known here.
Result<NumpyType> ParseItemType(const CodecOptions& options, const char* key,
                                const std::optional<NumpyType>& absent, const std::string& path);

// "NAME: expected items of 4 bytes, found 7 bytes in all".
tl::unexpected<Error> NotWholeItems(ErrorCode code, const std::string& name, const NumpyType& type,
                                    ByteSpan items);

}  // namespace unshard
