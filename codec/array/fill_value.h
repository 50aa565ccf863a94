// Fill values: the JSON of Zarr v2 and v3 to the bytes of one item, and back. Pure; thread-safe.
#pragma once

#include <optional>

#include "codec/core/bytes.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

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

}  // namespace unshard
