// numcodecs' filters that store each value as another one: fixedscaleoffset, astype, packbits.
#pragma once

#include <string>

#include "codec/compression/codec_options.h"
#include "codec/voxel/filter.h"

namespace unshard {

// As MakeFilter, of these three. Pure functions; thread-safe.
//
// fixedscaleoffset: (value - offset) * scale, rounded to the nearest, halves to the even one, is
// stored as `astype`. Floats of 4 bytes are computed as such, everything else as 8 bytes.
Result<Filter> MakeFixedScaleOffset(const std::string& name, const CodecOptions& options,
                                    const std::string& path);
// astype: values of `decode_dtype` are stored as `encode_dtype`.
Result<Filter> MakeAsType(const std::string& name, const CodecOptions& options,
                          const std::string& path);
// packbits: eight booleans a byte, the first one as its highest bit, behind a byte with the number
// of bits that are left over at the end.
Filter MakePackBits(const std::string& name);

}  // namespace unshard
