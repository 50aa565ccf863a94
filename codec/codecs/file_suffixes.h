// The codecs of compressed files: by the suffixes of their names, and by the Content-Encoding of a
// server.
#pragma once

#include <string_view>

#include "codec/chain/codec_spec.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// The codec of one of kCompressionSuffixes. Never null.
BytesCodecPtr CodecOfSuffix(std::string_view suffix);

// The codec of a Content-Encoding in lower case: "gzip" and its like, and what CloudFiles gives to
// objects ("br", "zstd", "xz", "lzma", "bz2", "bzip2"); null for another.
BytesCodecPtr CodecOfContentEncoding(std::string_view encoding);

// The codec "br", which no document names. Never null.
BytesCodecPtr MakeBrotli();

}  // namespace unshard
