// Codec chains of Zarr v3 and v2 that are put together from choices, and the promises that every
// chain keeps. Unit tests make the choices at random, the fuzz target codec_chain from its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/core/bytes.h"

namespace unshard {

// Choices that are read from bytes; 0 after the last one.
class Choices {
 public:
  explicit Choices(ByteSpan bytes) : bytes_(bytes) {}
  // A number below `count`, which is from 1 to 256.
  std::size_t Below(std::size_t count);

 private:
  ByteSpan bytes_;
};

// 256 bytes of choices; the same for the same seed.
ByteVector RandomChoices(std::uint32_t seed);

// Data types and shapes of chunks, the least and the odd ones among them.
const std::vector<DataType>& ChainTypes();
const std::vector<std::vector<std::uint64_t>>& ChainShapes();

// An array-to-array codec of Zarr v3 for items of one type.
struct DrawnCodec {
  std::string json;
  DataType after;  // of the items that it gives
};
inline constexpr std::size_t kArrayCodecs = 22;
// Those from 2 on, below this one, are filters of numcodecs.
inline constexpr std::size_t kFiltersEnd = 15;
// The codec with this number, below kArrayCodecs, for items of `type` and `rank` dimensions. Some
// types do not fit some codecs: such chains have to be refused.
DrawnCodec ArrayCodec(std::size_t number, const DataType& type, std::size_t rank);

// One chain: the text of `codecs` (Zarr v3), or of the members of a .zarray (Zarr v2).
struct DrawnChain {
  bool is_zarr2 = false;
  std::string json;
  DataType type;
  std::vector<std::uint64_t> shape;
};
DrawnChain DrawChain(Choices& choices);
// Voxels of a chunk. `wild`: any bits that the type has; else numbers from 0 to 4.
Voxels DrawVoxels(Choices& choices, const DataType& type, const std::vector<std::uint64_t>& shape,
                  bool wild);

// Makes the codec of the chain, encodes `voxels` and decodes the result, whole and damaged. Returns
// the promise that does not hold, with the chain and the failure: "" where all of these hold.
//
// A chain is refused at a path of the document. Voxels that cannot be stored are refused as such.
// What is encoded has the size that was announced, passes the check of chunks and is decoded to as
// many voxels of the same type: to the same ones, unless the codec says that it loses some. Damaged
// bytes never give another number of voxels.
std::string BrokenPromise(const DrawnChain& chain, const Voxels& voxels);

}  // namespace unshard
