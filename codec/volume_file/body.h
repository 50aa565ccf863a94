// The voxels of a whole-volume file: their order in the file, and the chunks from which a range of
// the file is read. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/grid/chunk_grid.h"
#include "codec/volume_file/volume_file.h"

namespace unshard {

// The axes in the order of the chunks.
std::vector<std::size_t> StoredOrder(const VolumeFileSource& source);
// A layout without a header, with the axes in `order`, slowest first; axes that are left out have
// to be one voxel deep. Fails with kNotSupported where the voxels take more than kMaxBodyBytes.
Result<VolumeFileLayout> LayoutInOrder(const VolumeFileSource& source,
                                       std::vector<std::size_t> order);
// Axes that are in a file as x, y, z and channel: the slowest first, without those that the array
// does not have. Fails with kNotSupported where the array is no image, or has a further axis.
Result<std::vector<std::size_t>> ImageOrder(std::string_view format,
                                            const VolumeFileSource& source);
// kNotSupported: the format cannot express the data type.
tl::unexpected<Error> NoSuchType(std::string_view format, const DataType& type);
// The most bytes of a file after its header.
inline constexpr std::uint64_t kMaxBodyBytes = std::uint64_t{1} << 62;

// A run of voxels of one chunk that are adjacent in the file.
struct VolumeRun {
  std::span<const std::uint64_t> cell;  // of the chunk
  // Of the first voxel, within the chunk; axes as in the grid.
  std::span<const std::uint64_t> position;
  std::size_t axis = 0;     // along which the run extends
  std::uint64_t count = 0;  // of voxels
  std::uint64_t at = 0;     // of the first voxel, in voxels from the start of the file's body
};

// Calls `visit` for the runs of the voxels from number `first` on, `count` of them, in the order of
// the file, until it fails. `grid`: of the chunks that they come from, from 0, slowest axis first.
// `order`: of a layout. Requires: they are in the body.
Status ForEachRun(const ChunkGrid& grid, std::span<const std::size_t> order, std::uint64_t first,
                  std::uint64_t count, const std::function<Status(const VolumeRun&)>& visit);

}  // namespace unshard
