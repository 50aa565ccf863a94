// LZ4 as N5 datasets have it. Written is the stream of lz4-java: blocks with a header and a
// checksum, and an empty one at the end. Read are also numcodecs' form, with the plain size in
// front, and the bare block that z5 writes; both only where the plain size is the bound.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeLz4Blocks;

}  // namespace unshard
