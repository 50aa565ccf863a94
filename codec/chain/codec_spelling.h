// Codecs as each dialect spells them, by the table of codecs, and as documents of Zarr v2 and N5
// list them: objects of a name and options. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/chain/codec_spec.h"
#include "codec/json/json.h"

namespace unshard {

// A bytes-to-bytes codec as documents of `to` list it, with all of its options there: those of
// `codec`, else the usual ones for items of `item_size` bytes. Its bytes are the same, except as
// the version of a library changes them. Nothing where `to` has no name for the codec, or does not
// say all that decoding needs.
std::optional<CodecSpec> SpellCodec(const CodecSpec& codec, ArrayDialect to,
                                    std::uint32_t item_size);

// Parses a codec of Zarr v2, {"id": "zlib", "level": 1}, or N5, {"type": "gzip", …}. An unknown
// name is kept, without a definition. Fails with kDataLoss, naming the member, on anything else.
Result<CodecSpec> ParseNamedCodec(const JsonCursor& codec, ArrayDialect dialect);
// The inverse, of a bytes-to-bytes codec as SpellCodec and ParseNamedCodec return it.
JsonValue NamedCodecJson(const CodecSpec& codec);

}  // namespace unshard
