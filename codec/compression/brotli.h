// Brotli (RFC 7932), both directions, where unshard is built with libbrotli.
#pragma once

#include "codec/compression/bytes_codec.h"

namespace unshard {

// The codec "br". Without libbrotli both directions fail with kNotSupported. Never null.
BytesCodecPtr MakeBrotli();

}  // namespace unshard
