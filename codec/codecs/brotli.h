// Brotli (RFC 7932): no document names it, but suffixes of files do.
#pragma once

#include "codec/chain/codec.h"

namespace unshard {

// The codec "br". Never null.
BytesCodecPtr MakeBrotli();

}  // namespace unshard
