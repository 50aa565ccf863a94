// The `codec` of a TensorStore Schema: how one format encodes chunks. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/schema/zarr3_codecs.h"

namespace unshard {

// The constraints on the codec of one format, which TensorStore calls a driver.
struct CodecConstraints {
  enum class Driver { kPrecomputed, kZarr3, kZarr2, kN5 };
  Driver driver = Driver::kZarr3;
  // Other drivers than kZarr3: the constrained members in canonical form. Zarr v2: `compressor`,
  // which may be null; N5: `compression`; precomputed: encoding, jpeg_quality, png_level,
  // shard_data_encoding.
  JsonValue members = JsonValue::Object();
  std::optional<Zarr3CodecChain> chain;  // kZarr3
};

// Parses the JSON form, whose `driver` names the format ("zarr2" is "zarr"). Absent options of the
// compressors of Zarr v2 and N5 take TensorStore's defaults here, those of Zarr v3 only later.
// Fails with kDataLoss, naming the JSON path and what was expected.
Result<CodecConstraints> ParseCodecConstraints(const JsonCursor& json);

// Adds the constraints of `other`; fails with kInvalidArgument, naming the member, where they
// contradict those of `into`.
Status MergeCodecConstraints(CodecConstraints& into, const CodecConstraints& other);

// The compressors of Zarr v2 arrays and N5 datasets without such a constraint; in N5, items of one
// byte are shuffled by bits.
JsonValue DefaultZarr2Compressor();
JsonValue DefaultN5Compression(std::uint64_t item_size);

}  // namespace unshard
