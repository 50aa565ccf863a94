// LZ4 as N5 datasets contain it. Written: the stream of lz4-java, blocks with a header and a
// checksum, and an empty one at the end. Read: also numcodecs' form, the plain size and one block,
// and the bare block that z5 writes; these two only where the plain size is exactly `max_bytes`,
// because a bare block does not say how long its plain bytes are.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeLz4Blocks;

}  // namespace unshard
