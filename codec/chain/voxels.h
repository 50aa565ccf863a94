// The decoded items of a chunk, with their type and shape. Thread-safe as long as all only read.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/types/data_type.h"

namespace unshard {

// The extents of a chunk, slowest axis first. Of precomputed volumes and N5, whose documents list
// axes fastest first, it is the reverse of those lists; the order of the items is that of the
// format.
using Shape = std::vector<std::uint64_t>;
using ShapeSpan = std::span<const std::uint64_t>;

// The bytes of the voxels of a chunk of `shape`. Fails with kResourceExhausted above 2^47.
Result<std::uint64_t> VoxelBytes(const DataType& type, ShapeSpan shape);

// Little-endian items in C order. There are always as many bytes as type and shape say, so bytes
// are never taken for items of another size: Make and Filled are the only ways to get voxels.
class Voxels {
 public:
  // Fails with kInternal where `bytes` has another size, and as VoxelBytes does.
  static Result<Voxels> Make(const DataType& type, Shape shape, ByteVector bytes);
  // Each item is `item`. Fails as VoxelBytes does, and with kInternal where `item` has another size
  // than the type.
  static Result<Voxels> Filled(const DataType& type, Shape shape, ByteSpan item);

  [[nodiscard]] const DataType& type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] ByteSpan bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::uint8_t> mutable_bytes() { return bytes_; }
  [[nodiscard]] ByteVector TakeBytes() && { return std::move(bytes_); }

  friend bool operator==(const Voxels&, const Voxels&) = default;

 private:
  Voxels(const DataType& type, Shape shape, ByteVector bytes)
      : type_(type), shape_(std::move(shape)), bytes_(std::move(bytes)) {}

  DataType type_;
  Shape shape_;
  ByteVector bytes_;
};

}  // namespace unshard
