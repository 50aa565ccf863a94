// The `codec` of a TensorStore Schema: how one format encodes chunks. The names and options of
// codecs, and their defaults, are those of their definitions (codec/chain/definition.h). Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/precomputed/shard.h"
#include "codec/schema/constraint.h"
#include "codec/types/dialect.h"

namespace unshard {

// The constraints on the codec of one format, which TensorStore calls a driver.
struct CodecConstraints {
  Dialect dialect = Dialect::kZarr3;
  // The codecs, with the options that are constrained. Zarr v3: a chain, in which an order may be
  // "C" or "F"; Zarr v2: nothing or a compressor, and N5: a compressor or `raw`, with all options;
  // precomputed: the encoding.
  std::optional<ChainSpec> codecs = std::nullopt;
  std::optional<ShardEncoding> shard_encoding = std::nullopt;  // precomputed: shard_data_encoding
};

// Parses the JSON form, whose `driver` names the format ("zarr2" is "zarr"). Absent options of the
// compressors of Zarr v2 and N5 take TensorStore's defaults here, others only where a new array is
// made. Fails with kDataLoss, naming the JSON path and what was expected, also for codecs and
// options that TensorStore does not have, and where the kind of a codec cannot follow that of the
// one before it.
Result<CodecConstraints> ParseCodecConstraints(const JsonCursor& json);
// The inverse.
JsonValue CodecConstraintsJson(const CodecConstraints& codec);

// Adds the constraints of `other`; fails with kInvalidArgument, naming the member, where they
// contradict those of `into`.
Status MergeCodecConstraints(CodecConstraints& into, const CodecConstraints& other);
// The same of codecs of Zarr v3. Where only one of the chains has sharding_indexed, the other one
// constrains its inner chunks; one of them may have one more transpose at the end of its array
// codecs.
Status MergeCodecs(ChainSpec& into, const ChainSpec& other);

// The codec with all options that have a default, in the order of the definition: without
// `item_size` those that do not depend on what it encodes, else all for items of this size, 0: it
// does not encode items. Fails with kInvalidArgument, naming the option, where it needs their size.
Result<CodecSpec> CompleteCodec(CodecSpec codec, std::optional<std::uint32_t> item_size);
// The compressor of new Zarr v2 arrays and N5 datasets whose schema does not constrain it.
CodecSpec DefaultCompressor(Dialect dialect, std::uint32_t item_size);

// A codec that one word names, with its usual options.
struct ShortCodec {
  std::string_view name;  // "raw", or that of a compressor or an encoding
  CodecConstraints constraints;
  std::string_view level = {};  // the option that is its level; "": it has none
};
// Those of a dialect. A compressor that cannot do without options is the DefaultCompressor.
std::vector<ShortCodec> ShortCodecs(Dialect dialect);

// --- Parts of the chains of Zarr v3

// The failure of codecs that contradict each other, or the array.
template <class... Parts>
tl::unexpected<Error> CodecsFail(const Parts&... parts) {
  return Fail(ErrorCode::kInvalidArgument, "codec.codecs: ", parts...);
}

// The configuration of a codec, which is made where it is absent.
JsonValue& OptionsOf(CodecSpec& codec);
// Sets an option that is a list of codecs.
void SetChain(CodecSpec& codec, std::string_view option, ChainSpec chain);
// The codecs of one kind, from arrays to arrays, from arrays to bytes or from bytes to bytes.
enum class CodecKind { kArrayToArray, kArrayToBytes, kBytesToBytes };
ChainSpec OfKind(const ChainSpec& chain, CodecKind kind);
// The order of the dimensions that a transpose of chunks of this rank encodes: as it is given, "C"
// or "F".
std::vector<std::size_t> OrderOf(const JsonValue& order, std::size_t rank);

}  // namespace unshard
