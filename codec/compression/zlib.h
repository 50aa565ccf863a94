// zlib (RFC 1950), both directions: one stream.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeZlib;

}  // namespace unshard
