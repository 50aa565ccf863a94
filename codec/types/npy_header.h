// The header of NumPy's format of one array: numpy.lib.format, versions 1.0, 2.0 and 3.0. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/types/data_type.h"

namespace unshard {

struct NpyHeader {
  NumpyType type;
  bool first_is_fastest = false;     // `fortran_order`: the first axis is; else the last one
  std::vector<std::uint64_t> shape;  // as NumPy lists it
};

// In version 1.0, or 2.0 where it is too long for that. The items after it begin at a multiple of
// 64 bytes.
ByteVector MakeNpyHeader(const NpyHeader& header);

// No header that this parses is longer.
inline constexpr std::uint64_t kMaxNpyHeader = 65536;

struct ParsedNpyHeader {
  NpyHeader header;
  std::uint64_t size = 0;  // its bytes, after which the items begin
};
// Fails with kDataLoss on anything else, and on types that are no voxels. Nothing bounds `shape`.
Result<ParsedNpyHeader> ParseNpyHeader(ByteSpan file);

}  // namespace unshard
