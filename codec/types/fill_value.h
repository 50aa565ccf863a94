// Fill values: the JSON of Zarr v2, Zarr v3 and TensorStore's schemas, and the bytes of one item.
// Pure; thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

// "NaT", which is no time, as the number that stores it. Any other value as it is.
JsonValue WithNumberOfNoTime(const JsonValue& fill_value);

// The little-endian item of `value`, which is true, false, 0 or 1 for booleans; a number, "NaN",
// "Infinity", "-Infinity" or hexadecimal bits ("0x7fc00001") for floats; a pair of these for
// complex types; base64 or a list of bytes for raw ones. Integers are exact up to 64 bits. "NaN"
// has the bits that Zarr v3 prescribes, 0x7fc00000 for float32. Fails with kDataLoss, naming the
// path and what was expected.
Result<ByteVector> ParseFillValue(const JsonCursor& value, const DataType& type);

// A fill value of Zarr v2 with numbers in place of strings that are numbers ("0", ["0", "1.5"]), as
// n5-zarr and jzarr wrote them. Other values as they are; not for raw types, whose strings are
// base64.
JsonValue WithNumbersOfStrings(const JsonValue& fill_value);

// The JSON of Zarr v3: NaN with other bits than those above in hexadecimal, a list of bytes for raw
// types. Requires: `item` has type.size bytes.
JsonValue WriteZarr3FillValue(ByteSpan item, const DataType& type);

// The JSON of Zarr v2: base64 for raw types. Fails with kNotSupported for a NaN with other bits,
// which Zarr v2 cannot express. Requires: `item` has type.size bytes.
Result<JsonValue> WriteZarr2FillValue(ByteSpan item, const DataType& type);

// The attribute `_FillValue` of xarray in Zarr v3: numbers and booleans as above; floats as base64
// of a little-endian float64, whatever their size; a pair of these for complex types; base64 for
// raw ones. Parsing returns nothing where the attribute has another form. Requires: `item` has
// type.size bytes.
JsonValue WriteXarrayFillValue(ByteSpan item, const DataType& type);
std::optional<ByteVector> ParseXarrayFillValue(const JsonValue& value, const DataType& type);

// Whether both are the same value of a `data_type` of Zarr v3, bit by bit, in any spelling: those
// of ParseFillValue, "NaT" for times. For other data types: whether both have the same meaning as
// JSON.
bool SameFillValue(std::string_view data_type, const JsonValue& a, const JsonValue& b);

// The value in `json`, or in nested arrays of one item each, as the JSON that TensorStore prints
// for it: a number of the type's precision, true or false, or the strings "NaN", "Infinity" and
// "-Infinity". Fails, naming the JSON path, for values that the type does not have, and for complex
// types, which have no JSON form in a schema.
Result<JsonValue> ParseSchemaFillValue(const DataTypeNames& type, const JsonCursor& json);
// The fill value of a document of Zarr in this form, complex types included. A value that the type
// does not have is unchanged.
JsonValue SchemaFillValueOf(const DataTypeNames& type, const JsonValue& value);

}  // namespace unshard
