// numcodecs' form of LZ4, both directions: the plain size as u32 little-endian, then one LZ4 block.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeLz4;

}  // namespace unshard
