// Codecs as documents list them, and how the lists of Zarr v3, `codecs` and `index_codecs`, are
// parsed in every form that writers have used and brought into the one form that current readers
// accept.
//
// Old and short-hand forms: a bare string for {"name": …}, names as
// https://purl.org/zarr/spec/codec/NAME/VERSION, `endian` for `bytes`, a transpose order of "C" or
// "F", a null configuration, an explicit must_understand. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/chain/codec_options.h"
#include "codec/chain/definition.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

struct CodecSpec;
using ChainSpec = std::vector<CodecSpec>;
// The chains in options of one codec, by the names of the options.
using NestedChains = std::vector<std::pair<std::string_view, ChainSpec>>;

inline constexpr std::string_view kShardingIndexed = "sharding_indexed";
// Options of sharding_indexed; a block of N5, and n5_default, have the first one as well.
inline constexpr std::string_view kInnerCodecs = "codecs";
inline constexpr std::string_view kIndexCodecs = "index_codecs";

// One codec of a document.
struct CodecSpec {
  std::string name;       // the current short name in Zarr v3: "gzip", "numcodecs.delta"
  JsonValue json;         // {"name": …, "configuration"?: …}, in the form of current readers
  std::string json_path;  // for messages: "codecs[0]", "filters[1]", "compression"
  Dialect dialect = Dialect::kZarr3;            // of the document
  const CodecDefinition* definition = nullptr;  // null: the name is not known here
  NestedChains chains = {};                     // absent options have none

  // Null: the option is absent.
  [[nodiscard]] const ChainSpec* FindChain(std::string_view option) const;
  // The configuration, or a null pointer; and its path in the document, for messages.
  [[nodiscard]] const JsonValue* configuration() const { return json.Find("configuration"); }
  [[nodiscard]] std::string configuration_path() const {
    return dialect == Dialect::kZarr3 ? json_path + ".configuration" : json_path;
  }
  // Refers to this spec.
  [[nodiscard]] CodecOptions options() const;
  // An object with the options by the codec's own names, as Zarr v3 has them. Whole numbers that
  // are absent are spelled out. Requires: a definition.
  [[nodiscard]] JsonValue own_options() const;
  // As CodecChain::text has it: "" for `bytes` and `transpose`.
  [[nodiscard]] std::string text() const;
  // As that of ArrayToBytesCodec: the name alone where the bytes tell the rest. Requires: a
  // definition.
  [[nodiscard]] JsonValue DecodingKey() const;
  // `codecs[1]: the codec "x"`, the beginning of messages; in Zarr v2 `filters[0].id: the codec …`.
  [[nodiscard]] std::string at() const;
};

// The codec that Zarr v3 calls `name`.
CodecSpec CodecOfZarr3(std::string name, JsonValue configuration = {}, std::string json_path = {});

// An extension point of array metadata (`chunk_grid`, `chunk_key_encoding`, `data_type`, a codec)
// as an object with a short name, without a null configuration and without a redundant
// must_understand. Fails with kDataLoss on anything but a string or an object with a name.
Result<JsonValue> NormaliseExtension(const JsonCursor& extension);

// {"name": …, "configuration"?: …}: an extension point in that form. `configuration` null: none.
JsonValue ExtensionJson(std::string_view name, JsonValue configuration = {});

// Parses a list of codecs for arrays of rank `rank`, and the lists in their options. Unknown codecs
// are kept unchanged. Fails with kDataLoss on anything but a list of codecs.
Result<ChainSpec> ParseChainSpec(const JsonCursor& codecs, std::size_t rank);
// The inverse.
JsonValue CodecsJson(const ChainSpec& chain);

// The position of `sharding_indexed`, or nothing where the chain has none.
std::optional<std::size_t> FindSharding(const ChainSpec& chain);

// The `order` of a transpose codec: a permutation of the `rank` dimensions.
Result<std::vector<std::size_t>> TransposeOrder(const CodecSpec& transpose, std::size_t rank);

// Whether a `bytes` codec stores items big-endian; where its `endian` is absent, little-endian.
Result<bool> IsBigEndian(const CodecSpec& bytes);

// Binds a codec. A null pointer: it is not of this kind, or not known. Fails as the definition's
// `bind` does.
Result<ArrayCodecPtr> BindArrayToArray(const CodecSpec& codec, const ArrayRepresentation& decoded);
Result<BytesCodecPtr> BindBytesToBytes(const CodecSpec& codec, std::uint32_t item_size = 0);

}  // namespace unshard
