// numcodecs' filters that round floats when they encode, and give items as they are when they
// decode: quantize, bitround.
#pragma once

#include <optional>
#include <string>

#include "codec/compression/codec_options.h"
#include "codec/voxel/filter.h"

namespace unshard {

// As MakeFilter, of these two. `items`: the type of little-endian items that are encoded, where it
// is known. Others than floats of 4 and 8 bytes (of bitround 2 as well) are decoded only. Pure
// functions; thread-safe.
Result<Filter> MakeQuantize(const std::string& name, const CodecOptions& options,
                            const std::string& path);
Result<Filter> MakeBitRound(const std::string& name, const std::optional<DataType>& items,
                            const CodecOptions& options);

}  // namespace unshard
