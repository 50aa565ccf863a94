// The formats of metadata documents.
#pragma once

#include <cstdint>

namespace unshard {

enum class Dialect : std::uint8_t { kPrecomputed, kZarr3, kZarr2, kN5 };

}  // namespace unshard
