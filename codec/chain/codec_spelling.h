// Codecs as each dialect spells them, by the table of codecs, and as documents of Zarr v2 and N5
// list them: objects of a name and options. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/json/json.h"

namespace unshard {

// A bytes-to-bytes codec as documents of `to` list it, with all of its options there: those of
// `codec`, else the usual ones for items of `item_size` bytes. Its bytes are the same, except as
// the version of a library changes them. Nothing where `to` has no name for the codec, or does not
// say all that decoding needs.
std::optional<CodecSpec> SpellCodec(const CodecSpec& codec, Dialect to, std::uint32_t item_size);

// The codec as a dialect spells it, with these options, an object. Requires: the dialect has a name
// for it.
CodecSpec CodecIn(Dialect dialect, const CodecDefinition& definition, JsonValue options);

// A codec that has a name where a boolean option is true, and that option.
struct ToldByOption {
  const CodecDefinition* codec;
  std::string_view option;
};
// Those of this name beside the codec that has it alone.
std::vector<ToldByOption> ToldByOptions(Dialect dialect, std::string_view name);

// The member with the name of a codec: "id" in Zarr v2, "type" in N5, "encoding" in a scale.
const char* NameMember(Dialect dialect);
// Parses a codec of Zarr v2, {"id": "zlib", "level": 1}, or N5, {"type": "gzip", …}. An unknown
// name is kept, without a definition. Fails with kDataLoss, naming the member, on anything else.
Result<CodecSpec> ParseNamedCodec(const JsonCursor& codec, Dialect dialect);
// The inverse, of a codec as CodecIn, SpellCodec and ParseNamedCodec return it; of an encoding its
// members of a scale.
JsonValue NamedCodecJson(const CodecSpec& codec);

}  // namespace unshard
