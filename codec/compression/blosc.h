// Blosc, both directions: one Blosc 1 buffer.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeBlosc;

}  // namespace unshard
