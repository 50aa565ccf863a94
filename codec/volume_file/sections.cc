#include "codec/volume_file/sections.h"

#include <algorithm>

#include "codec/core/byte_range.h"
#include "codec/core/strided_copy.h"

namespace unshard {
namespace {

// The bytes and chunks of the voxels at one position of an axis of the file.
struct Behind {
  std::uint64_t bytes = 0, chunks = 0;
};

// a * b, at most 2^64 - 1.
std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  return CheckedMultiply(a, b).value_or(~std::uint64_t{0});
}

// How many positions of an axis can be kept in `bytes`.
std::uint64_t PositionsIn(std::uint64_t bytes, std::uint64_t each, const Behind& behind) {
  const std::uint64_t beside = Times(behind.chunks, each);
  return beside < bytes ? (bytes - beside) / behind.bytes : 0;
}

std::uint64_t Parts(std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; }

}  // namespace

ChunkSections::ChunkSections(const VolumeGrid& grid, std::span<const std::size_t> order,
                             bool clipped, const SectionLimits& limits)
    : shape_(grid.chunk) {
  std::vector<std::uint64_t> stored;
  for (std::size_t axis = 0; axis < grid.shape.size(); ++axis) {
    const std::uint64_t cells = Parts(grid.shape[axis], grid.chunk[axis]);
    stored.push_back(clipped ? grid.shape[axis] : Times(cells, grid.chunk[axis]));
  }
  if (std::find(stored.begin(), stored.end(), 0) == stored.end()) {
    CutLayer(grid, order, stored, limits);
  }
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    counts_.push_back(Parts(grid.chunk[axis], shape_[axis]));
  }
  cut_ = shape_ != grid.chunk;
}

void ChunkSections::CutLayer(const VolumeGrid& grid, std::span<const std::size_t> order,
                             std::span<const std::uint64_t> stored, const SectionLimits& limits) {
  // Axes that the file leaves out are one voxel deep; chunks may be padded along them.
  std::uint64_t item = grid.item_bytes;
  for (std::size_t axis = 0; axis < stored.size(); ++axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) {
      item = Times(item, stored[axis]);
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t axis = order[i];
    Behind behind{item, 1};
    for (const std::size_t next : order.subspan(i + 1)) {
      behind.bytes = Times(behind.bytes, stored[next]);
      behind.chunks = Times(behind.chunks, Parts(grid.shape[next], grid.chunk[next]));
    }
    const std::uint64_t depth = std::min(grid.chunk[axis], grid.shape[axis]);
    if (i == 0 && PositionsIn(limits.chunks, limits.each, behind) >= depth) return;
    // The fastest axis is not cut, so that runs of the file stay whole.
    const bool fastest = i + 1 == order.size();
    const std::uint64_t kept =
        fastest ? depth : std::min(depth, PositionsIn(limits.sections, limits.each, behind));
    if (kept == 0) {
      shape_[axis] = 1;
      continue;
    }
    // The same number of sections, as equal as can be.
    shape_[axis] = kept == depth ? grid.chunk[axis] : Parts(depth, Parts(depth, kept));
    return;
  }
}

std::uint64_t ChunkSections::NumberOf(std::span<const std::uint64_t> position) const {
  std::uint64_t number = 0;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    number = number * counts_[axis] + position[axis] / shape_[axis];
  }
  return number;
}

ChunkSections::Interval ChunkSections::IntervalOf(std::uint64_t number, std::size_t axis,
                                                  std::uint64_t extent) const {
  for (std::size_t faster = shape_.size(); --faster > axis;) number /= counts_[faster];
  const std::uint64_t begin = number % counts_[axis] * shape_[axis];
  return {begin, std::min(shape_[axis], extent - begin)};
}

ByteVector CutSection(const ChunkSections& sections, std::uint64_t number,
                      std::span<const std::uint64_t> chunk_shape, std::uint64_t item_bytes,
                      std::span<const std::uint8_t> voxels) {
  std::vector<std::uint64_t> extents;
  std::uint64_t begin = 0;  // of the section, in bytes
  const auto from_strides = StridesOf(chunk_shape, item_bytes);
  for (std::size_t axis = 0; axis < chunk_shape.size(); ++axis) {
    const auto interval = sections.IntervalOf(number, axis, chunk_shape[axis]);
    extents.push_back(interval.extent);
    begin += interval.begin * from_strides[axis];
  }
  const auto to_strides = StridesOf(extents, item_bytes);
  std::vector<StridedAxis> axes;
  std::uint64_t size = item_bytes;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    axes.push_back({extents[axis], from_strides[axis], to_strides[axis]});
    size *= extents[axis];
  }
  ByteVector bytes(size);
  CopyStrided(voxels.data() + begin, bytes.data(), axes, item_bytes);
  return bytes;
}

}  // namespace unshard
