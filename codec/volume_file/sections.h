// Sections of chunks: which part of each decoded chunk is cached while a whole-volume file is read
// from its beginning to its end, where all chunks of a layer of its slowest axis exceed the cache.
//
// A chunk is cut along the axes of the file, slowest first, into sections: the voxels of as many
// positions along one axis as the cache can hold of all chunks that are read in turn. Each chunk is
// then decoded once for each of its sections, instead of once for each position. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/volume_file/body.h"

namespace unshard {

// Sizes in bytes.
struct SectionLimits {
  std::uint64_t chunks = 0;  // the most for all chunks of a layer: where these fit they are not cut
  std::uint64_t sections = 0;  // the most for one section of each of these chunks
  std::uint64_t each = 0;      // what a cached chunk or section takes beside its voxels
};

// What sections are cut out of. Of chunks that differ in shape, the largest extents.
struct VolumeGrid {
  std::vector<std::uint64_t> shape;  // of the array, slowest axis first
  std::vector<std::uint64_t> chunk;  // of a whole chunk
  std::uint64_t item_bytes = 1;
};

// The sections of the chunks of one array. Immutable.
class ChunkSections {
 public:
  // `order`: of a layout of the file. `clipped`: chunks have no voxels beyond the array.
  ChunkSections(const VolumeGrid& grid, std::span<const std::size_t> order, bool clipped,
                const SectionLimits& limits);

  // Whether a chunk has more than one section.
  [[nodiscard]] bool cut() const { return cut_; }
  // The shape of a section that is not at the upper edge of its chunk, axes as in the grid.
  [[nodiscard]] const std::vector<std::uint64_t>& shape() const { return shape_; }

  // The number, among the sections of its chunk, of the one with the voxel at `position`.
  [[nodiscard]] std::uint64_t NumberOf(std::span<const std::uint64_t> position) const;
  struct Interval {
    std::uint64_t begin = 0, extent = 0;
  };
  // The voxels of a section along an axis, of a chunk that has `extent` of them.
  [[nodiscard]] Interval IntervalOf(std::uint64_t number, std::size_t axis,
                                    std::uint64_t extent) const;

 private:
  void CutLayer(const VolumeGrid& grid, std::span<const std::size_t> order,
                std::span<const std::uint64_t> stored, const SectionLimits& limits);

  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> counts_;  // of sections of a chunk, for each axis
  bool cut_ = false;
};

// The bytes of a section of a chunk of `chunk_shape`, whose voxels are `voxels`.
ByteVector CutSection(const ChunkSections& sections, std::uint64_t number,
                      std::span<const std::uint64_t> chunk_shape, std::uint64_t item_bytes,
                      std::span<const std::uint8_t> voxels);

}  // namespace unshard
