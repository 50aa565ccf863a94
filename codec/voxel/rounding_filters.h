// numcodecs' filters that round floats when they encode, and change nothing when they decode:
// quantize, bitround.
#pragma once

#include <optional>
#include <string>

#include "codec/compression/codec_options.h"
#include "codec/voxel/filter.h"

namespace unshard {

// As MakeFilter, for these two. Items other than floats of 4 or 8 bytes (with bitround also of 2
// bytes) are only decoded. Pure functions; thread-safe.
Result<Filter> MakeQuantize(const std::string& name, const CodecOptions& options,
                            const std::string& path);
Result<Filter> MakeBitRound(const std::string& name, const std::optional<NumpyType>& items,
                            const CodecOptions& options);

}  // namespace unshard
