// The TensorStore Schema of an existing array: what
// `ts.open(spec).result().schema.to_json()` returns for it, with NaN and infinities as strings.
//
// Arrays that TensorStore cannot open (codecs and data types of other writers) are described as far
// as their document goes, in its words. Pure; thread-safe.
#pragma once

#include <string>

#include "codec/array/array.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

struct DescribedArray {
  Schema schema;      // without a data type and a codec that TensorStore does not have
  std::string dtype;  // the name of the data type in either case
  JsonValue codec;    // the JSON form of the codec in either case
};

// Of an array of any dialect; its codec may be unknown here, and its data type. An N5 dataset with
// sharding_indexed (N5 library 4.x), which TensorStore does not know, has the inner chunks as read
// chunks, and `codec` has its `codecs`. Fails with kDataLoss where an extent is not below 2^62, and
// as Array::voxels does where shape, chunks or data type are not known.
Result<DescribedArray> DescribeArray(const Array& array);

// Its JSON form.
Result<JsonValue> SchemaOf(const Array& array);

}  // namespace unshard
