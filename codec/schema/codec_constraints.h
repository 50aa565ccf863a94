// The `codec` of a TensorStore Schema: how one format encodes chunks. The names and options of
// codecs are those of their definitions (codec/chain/definition.h). Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/chain/codec_spec.h"
#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/schema/constraint.h"
#include "codec/types/dialect.h"

namespace unshard {

// The constraints on the codec of one format, which TensorStore calls a driver.
struct CodecConstraints {
  ArrayDialect dialect = ArrayDialect::kZarr3;
  // Zarr v3: the codecs, with the options that are constrained; an order may be "C" or "F".
  std::optional<ChainSpec> codecs;
  // Other formats: the constrained members, with all of their options. Zarr v2: `compressor`, which
  // may be null; N5: `compression`; precomputed: encoding, jpeg_quality, png_level,
  // shard_data_encoding.
  JsonValue members = JsonValue::Object();
};

// The name of the driver of a dialect.
std::string_view DriverName(ArrayDialect dialect);

// Parses the JSON form, whose `driver` names the format ("zarr2" is "zarr"). Absent options of the
// compressors of Zarr v2 and N5 take TensorStore's defaults here, those of Zarr v3 only later.
// Fails with kDataLoss, naming the JSON path and what was expected.
Result<CodecConstraints> ParseCodecConstraints(const JsonCursor& json);
// Its `codecs` in Zarr v3: names alone are enough, and options may be absent. Fails as well for
// codecs and options that TensorStore does not have, and where the kind of a codec cannot follow
// that of the one before it.
Result<ChainSpec> ParseCodecs(const JsonCursor& codecs);

// Adds the constraints of `other`; fails with kInvalidArgument, naming the member, where they
// contradict those of `into`.
Status MergeCodecConstraints(CodecConstraints& into, const CodecConstraints& other);
// The same of codecs. Where only one of the chains has sharding_indexed, the other one constrains
// its inner chunks; one of them may have one more transpose at the end of its array codecs.
Status MergeCodecs(ChainSpec& into, const ChainSpec& other);

// The compressors of Zarr v2 arrays and N5 datasets without such a constraint; in N5, items of one
// byte are shuffled by bits.
JsonValue DefaultZarr2Compressor();
JsonValue DefaultN5Compression(std::uint64_t item_size);

// --- Parts of the chains of Zarr v3

// The failure of codecs that contradict each other, or the array.
template <class... Parts>
tl::unexpected<Error> CodecsFail(const Parts&... parts) {
  return Fail(ErrorCode::kInvalidArgument, "codec.codecs: ", parts...);
}

// The codec `name` of a schema with these options, `chains` being in `options` as well. Requires:
// TensorStore has it.
CodecSpec CodecOfSchema(std::string_view name, JsonValue options, NestedChains chains = {});
// Sets an option that is a list of codecs.
void SetChain(CodecSpec& codec, std::string_view option, ChainSpec chain);
// The configuration of a codec, which is made where it is absent.
JsonValue& OptionsOf(CodecSpec& codec);
// The codecs of one kind, from arrays to arrays, from arrays to bytes or from bytes to bytes.
enum class CodecKind { kArrayToArray, kArrayToBytes, kBytesToBytes };
ChainSpec OfKind(const ChainSpec& chain, CodecKind kind);
// The order of the dimensions that a transpose of chunks of this rank encodes: as it is given, "C"
// or "F".
std::vector<std::size_t> OrderOf(const JsonValue& order, std::size_t rank);
// Sets the options that are absent and have a default which does not depend on the chunk, and
// brings all of them into the order of the definition.
void SetDefaults(CodecSpec& codec);

}  // namespace unshard
