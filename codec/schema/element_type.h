// The data types of TensorStore's schemas, and fill values of them. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

struct ElementType {
  enum class Kind {
    kBool,
    kSigned,
    kUnsigned,
    kFloat,      // IEEE 754, and bfloat16
    kTinyFloat,  // of 8 bits or fewer
    kComplex,
    kOther,  // no numbers: no format here can hold them
  };
  std::string_view name;
  Kind kind = Kind::kOther;
  std::uint32_t bits = 0;       // of a value; of int2 and int4 fewer than are stored
  std::uint32_t size = 0;       // bytes of a stored value
  std::string_view zarr2 = {};  // `dtype` of a new Zarr v2 array; empty: there is none
  bool precomputed = false;     // whether precomputed volumes have it
  bool n5 = false;              // whether N5 datasets have it
};

// The type that TensorStore calls `name`; a null pointer where there is none.
const ElementType* FindElementType(std::string_view name);

// The names of all types that a format here can hold, in the order of their table.
std::vector<std::string_view> ElementTypeNames();

// The type whose new Zarr v2 arrays have this `dtype`; a null pointer where there is none.
const ElementType* FindZarr2Type(std::string_view dtype);

// The value in `json`, or in nested arrays of one item each, as the JSON that TensorStore prints
// for it: a number of the type's precision, true or false, or the strings "NaN", "Infinity" and
// "-Infinity". Fails, naming the JSON path, for values that the type does not have, and for complex
// types, which have no JSON form in a schema.
Result<JsonValue> ParseElement(const ElementType& type, const JsonCursor& json);

// "NaN", "Infinity", "-Infinity" or a number.
JsonValue FloatJson(double value);

}  // namespace unshard
