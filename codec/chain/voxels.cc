#include "codec/chain/voxels.h"

#include <algorithm>
#include <string>

#include "codec/core/byte_range.h"

namespace unshard {
namespace {

tl::unexpected<Error> OtherSize(const char* of, std::uint64_t expected, std::size_t found) {
  return Fail(ErrorCode::kInternal, of, ": expected ", expected, " bytes, found ", found);
}

}  // namespace

Result<std::uint64_t> VoxelBytes(const DataType& type, ShapeSpan shape) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 47;
  const auto items = CheckedProduct(shape);
  const auto bytes = items ? CheckedMultiply(*items, type.size) : std::nullopt;
  if (!bytes || *bytes > kMost) {
    return Fail(ErrorCode::kResourceExhausted, "expected a chunk of at most ", kMost, " bytes");
  }
  return *bytes;
}

Result<Voxels> Voxels::Make(const DataType& type, Shape shape, ByteVector bytes) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(type, shape));
  if (bytes.size() != size) return OtherSize("voxels", size, bytes.size());
  return Voxels(type, std::move(shape), std::move(bytes));
}

Result<Voxels> Voxels::Filled(const DataType& type, Shape shape, ByteSpan item) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(type, shape));
  if (item.size() != type.size) return OtherSize("item", type.size, item.size());
  ByteVector bytes(size);
  const bool zeros = std::all_of(item.begin(), item.end(), [](auto byte) { return byte == 0; });
  for (std::size_t at = 0; !zeros && at < bytes.size(); at += item.size()) {
    std::copy(item.begin(), item.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return Voxels(type, std::move(shape), std::move(bytes));
}

}  // namespace unshard
