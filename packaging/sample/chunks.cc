#include "packaging/sample/chunks.h"

#include <algorithm>
#include <vector>

#include "codec/codecs/segmentation_format.h"
#include "packaging/sample/image.h"
#include "packaging/sample/labels.h"

namespace unshard::sample {
namespace {

constexpr std::size_t kHalf = kEdge / 2;

ByteVector FineImage(const Position& origin) { return MakeImage(origin, MakeLabels(origin)); }

// Calls visit(origin, corner) for the eight tiles of the finest level that a chunk of level 1
// covers: `corner` is the first voxel of the tile's octant in the chunk.
template <class Visit>
void ForEachOctant(const Position& cell, Visit visit) {
  for (std::size_t i = 0; i < 8; ++i) {
    const Position octant{i & 1, i >> 1 & 1, i >> 2};
    Position origin;
    for (std::size_t d = 0; d < 3; ++d) origin[d] = kEdge * (2 * cell[d] + octant[d]);
    visit(origin, kHalf * (octant[0] + kEdge * (octant[1] + kEdge * octant[2])));
  }
}

// Calls visit(fine, coarse) with the voxels of a tile at even positions and of their places in an
// octant.
template <class Visit>
void ForEachSecondVoxel(std::size_t corner, Visit visit) {
  for (std::size_t z = 0; z < kHalf; ++z) {
    for (std::size_t y = 0; y < kHalf; ++y) {
      const std::size_t row = kEdge * (y + kEdge * z);
      for (std::size_t x = 0; x < kHalf; ++x) visit(2 * (row + x), corner + row + x);
    }
  }
}

// The mean of 2 × 2 × 2 voxels.
ByteVector CoarseImage(const Position& cell) {
  ByteVector coarse(kTileVoxels);
  ForEachOctant(cell, [&](const Position& origin, std::size_t corner) {
    const ByteVector fine = FineImage(origin);
    ForEachSecondVoxel(corner, [&](std::size_t from, std::size_t to) {
      unsigned sum = 4;  // rounds to the nearest
      for (std::size_t k = 0; k < 8; ++k) {
        sum += fine[from + (k & 1) + kEdge * ((k >> 1 & 1) + kEdge * (k >> 2))];
      }
      coarse[to] = static_cast<std::uint8_t>(sum / 8);
    });
  });
  return coarse;
}

std::vector<std::uint64_t> CoarseLabels(const Position& cell) {
  std::vector<std::uint64_t> coarse(kTileVoxels);
  ForEachOctant(cell, [&](const Position& origin, std::size_t corner) {
    const LabelTile fine = MakeLabels(origin);
    ForEachSecondVoxel(corner,
                       [&](std::size_t from, std::size_t to) { coarse[to] = fine.labels[from]; });
  });
  return coarse;
}

Position OriginOf(const Position& cell) {
  return {kEdge * cell[0], kEdge * cell[1], kEdge * cell[2]};
}

// The part of a chunk that lies within the volume.
Position ExtentOf(const Level& level, const Position& cell) {
  Position extent;
  for (std::size_t d = 0; d < 3; ++d) {
    extent[d] = std::min<std::uint64_t>(kEdge, level.size[d] - kEdge * cell[d]);
  }
  return extent;
}

}  // namespace

ByteVector ImageChunk(const Levels& levels, std::size_t number, const Position& cell) {
  const ByteVector whole = number == 0 ? FineImage(OriginOf(cell)) : CoarseImage(cell);
  const Position extent = ExtentOf(levels[number], cell);
  ByteVector chunk(kTileVoxels);
  for (std::size_t z = 0; z < extent[2]; ++z) {
    for (std::size_t y = 0; y < extent[1]; ++y) {
      const std::size_t row = kEdge * (y + kEdge * z);
      std::copy_n(&whole[row], extent[0], &chunk[row]);
    }
  }
  return chunk;
}

Result<ByteVector> LabelChunk(const Levels& levels, std::size_t number, const Position& cell) {
  const auto whole = number == 0 ? MakeLabels(OriginOf(cell)).labels : CoarseLabels(cell);
  const Position extent = ExtentOf(levels[number], cell);
  ByteVector labels;
  for (std::size_t z = 0; z < extent[2]; ++z) {
    for (std::size_t y = 0; y < extent[1]; ++y) {
      const std::uint64_t* row = &whole[kEdge * (y + kEdge * z)];
      std::for_each_n(row, extent[0], [&](std::uint64_t label) { AppendU64Le(labels, label); });
    }
  }
  return EncodeCompressedSegmentation(labels, {extent, {8, 8, 8}, 1, 2});
}

}  // namespace unshard::sample
