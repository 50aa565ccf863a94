// zstd (RFC 8878), both directions: one or more frames are read, with or without a content size in
// their header; one frame, with a content size, is written.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

MakeCodec MakeZstd;

}  // namespace unshard
