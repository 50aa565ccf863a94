// The chunk_key_encoding of Zarr v3 arrays.
#pragma once

#include "codec/grid/chunk_key.h"
#include "codec/json/cursor.h"

namespace unshard {

// Parses an encoding as NormaliseExtension gives it. Fails with kNotSupported, naming it, where it
// is neither "default" nor "v2", and with kDataLoss on a separator other than "/" and ".". Pure
// function; thread-safe.
Result<ChunkKeyEncoding> ParseZarr3KeyEncoding(const JsonCursor& encoding);

}  // namespace unshard
