// Codecs as each dialect spells them, by the table of codecs. Pure functions; thread-safe.
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

// Its member of documents of Zarr v2 ("compressor") or N5 ("compression"), an object with its name
// and its options. Requires: a codec of that dialect.
JsonValue CompressorJson(const CodecSpec& codec);

}  // namespace unshard
