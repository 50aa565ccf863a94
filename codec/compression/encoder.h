// The compressing half of Zarr v3 bytes-to-bytes codecs, as their configuration asks for it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/json/json.h"

namespace unshard {

// Compresses one buffer. Fails as the functions of codec/compression/compress.h do. Thread-safe.
using Encoder = std::function<Result<ByteVector>(ByteSpan)>;

// The encoder of the compressor `name` (gzip, zstd, blosc, numcodecs.gzip, .zlib, .zstd, .blosc,
// .bz2, .lz4); what the configuration leaves out is as the codec's reference implementation has it.
// Fails, naming the member, where the configuration is none that the library in use can follow.
Result<Encoder> MakeEncoder(std::string_view name, const JsonValue* configuration,
                            const std::string& json_path);

}  // namespace unshard
