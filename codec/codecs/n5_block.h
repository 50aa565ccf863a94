// The blocks of N5 datasets. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/json/cursor.h"

namespace unshard {

// The header of a block of `shape`, slowest axis first, in mode 0. Requires: extents below 2^32.
ByteVector MakeN5BlockHeader(std::span<const std::uint64_t> shape);

// The chain of a dataset with this `compression`, a member of attributes.json, and blocks of at
// most `block_shape`, slowest axis first. Fails with kDataLoss, naming the path and what was
// expected, on damaged metadata, and with kNotSupported, naming the type, where it is not known
// here.
Result<ChainSpec> N5ChainSpec(const JsonCursor& compression,
                              const std::vector<std::uint64_t>& block_shape);
// The same of the compressors of a dataset, at most one.
ChainSpec N5ChainSpec(ChainSpec compressors, const std::string& path,
                      const std::vector<std::uint64_t>& block_shape);

}  // namespace unshard
