// numcodecs' filters that store each value as another one: fixedscaleoffset, astype, packbits.
#pragma once

#include <string>

#include "codec/compression/codec_options.h"
#include "codec/voxel/filter.h"

namespace unshard {

// As MakeFilter, for these three. Pure functions; thread-safe.
//
// fixedscaleoffset: (value - offset) * scale, rounded to the nearest integer with ties to even, is
// stored as `astype`. It is computed in floats of 4 bytes where items are such, else of 8 bytes.
Result<Filter> MakeFixedScaleOffset(const std::string& name, const CodecOptions& options,
                                    const std::string& path);
// astype: values of `decode_dtype` are stored as `encode_dtype`.
Result<Filter> MakeAsType(const std::string& name, const CodecOptions& options,
                          const std::string& path);
// packbits: a byte with the number of unused bits at the end, then eight booleans a byte, the first
// one in the highest bit.
Filter MakePackBits(const std::string& name);

}  // namespace unshard
