// numcodecs' shuffle: the first bytes of all elements, then the second ones, and so on.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeShuffle;

}  // namespace unshard
