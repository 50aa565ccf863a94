// The codecs of compressed chunk files, by the suffixes of their names.
#pragma once

#include <string_view>

#include "codec/chain/codec_spec.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// The codec of one of kCompressionSuffixes. Never null.
BytesCodecPtr CodecOfSuffix(std::string_view suffix);

// The codec "br", which no document names. Never null.
BytesCodecPtr MakeBrotli();

}  // namespace unshard
