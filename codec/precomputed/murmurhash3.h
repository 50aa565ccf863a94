// The hash of chunk ids. codec/FORMATS.md, "Precomputed shards".
#pragma once

#include <cstdint>

namespace unshard {

// murmurhash3_x86_128 with seed 0 of the 8 little-endian bytes of `value`: h2 << 32 | h1.
std::uint64_t MurmurHash3X86_128Of64(std::uint64_t value);

}  // namespace unshard
