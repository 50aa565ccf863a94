// zstd (RFC 8878), both directions: one or more frames are read, with or without announced content
// size; one that announces it is written.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeZstd;

}  // namespace unshard
