// LZMA as numcodecs and N5 (xz) store it: .xz and .lzma streams are read, .xz is written.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

// Fails with kNotSupported for format 3, whose streams do not say how they are encoded.
MakeCodec MakeLzma;

}  // namespace unshard
