// Brotli (RFC 7932).
#pragma once

#include "codec/compression/bytes_codec.h"

namespace unshard {

// The codec "br". Never null.
BytesCodecPtr MakeBrotli();

}  // namespace unshard
