// The suffixes of compressed chunk files, as CloudVolume writes them, and their codecs.
#pragma once

#include <array>
#include <string_view>

#include "codec/chain/codec_spec.h"

namespace unshard {

// In the order in which CloudVolume looks for them, after the name without a suffix.
inline constexpr std::array<std::string_view, 5> kCompressionSuffixes = {".gz", ".br", ".zstd",
                                                                         ".xz", ".bz2"};

// The codec of one of kCompressionSuffixes. Never null.
BytesCodecPtr CodecOfSuffix(std::string_view suffix);

}  // namespace unshard
