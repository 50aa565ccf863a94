// bzip2, both directions: one or more streams are read, one is written.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeBzip2;

}  // namespace unshard
