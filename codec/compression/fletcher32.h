// Fletcher's checksum of 32 bits as HDF5 and numcodecs compute it: over big-endian words of 16
// bits, stored little-endian after the bytes that it protects.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeFletcher32;

}  // namespace unshard
