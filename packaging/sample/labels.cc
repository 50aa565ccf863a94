// Cells are the Voronoi cells of a jittered lattice, seen through a smooth warp of space; some
// cells take the label of a neighbour, so that labels branch and are not convex. The squared
// distances to sites are computed at the corners of blocks of 8 × 8 × 8 voxels and interpolated
// between them, and only for sites that can be the nearest or second nearest within the block.
#include "packaging/sample/labels.h"

#include <algorithm>

#include "packaging/sample/noise.h"

namespace unshard::sample {
namespace {

constexpr std::size_t kBlock = 8;
constexpr std::size_t kBlocks = kEdge / kBlock;  // per dimension of a tile

// Distance between sites in voxels; cells are longer in z, as neurites along a tract are.
constexpr std::array<float, 3> kSiteSpacing{66.0F, 60.0F, 92.0F};
constexpr float kJitter = 0.6F;
// In units of the site lattice.
constexpr float kCoarseWarp = 0.9F;
constexpr float kFineWarp = 0.16F;
// A step of one voxel across a boundary changes the difference of two squared distances by about
// twice the reciprocal of the spacing.
constexpr float kVoxelsPerDifference = 33.0F;
constexpr float kFarDifference = kFarFromBoundary / kVoxelsPerDifference;
constexpr float kShareOfMergedSites = 0.35F;

enum Seed : std::uint32_t { kJitterSeed = 11, kMergeSeed = 21, kIdSeed = 31, kWarpSeed = 41 };

using Point = std::array<float, 3>;
using SiteCell = std::array<std::uint32_t, 3>;

// The position among the sites; offset by some cells so that it stays positive.
Point ToSiteSpace(const Position& voxel) {
  const Point at{static_cast<float>(voxel[0]), static_cast<float>(voxel[1]),
                 static_cast<float>(voxel[2])};
  Point point;
  for (std::uint32_t d = 0; d < 3; ++d) {
    const float coarse = Noise(at[0], at[1], at[2], 97.0F, kWarpSeed + d);
    const float fine = Noise(at[0], at[1], at[2], 23.0F, kWarpSeed + 3 + d);
    point[d] = at[d] / kSiteSpacing[d] + kCoarseWarp * coarse + kFineWarp * fine + 2.0F;
  }
  return point;
}

Point SiteOf(const SiteCell& cell) {
  Point site;
  for (std::uint32_t d = 0; d < 3; ++d) {
    const float random = UnitHash(cell[0], cell[1], cell[2], kJitterSeed + d);
    site[d] = static_cast<float>(cell[d]) + 0.5F + kJitter * (random - 0.5F);
  }
  return site;
}

// Labels do not fit 53 bits, as those of real segmentations often do not.
std::uint64_t LabelOf(SiteCell cell) {
  if (UnitHash(cell[0], cell[1], cell[2], kMergeSeed) < kShareOfMergedSites) {
    ++cell[Hash(cell[0], cell[1], cell[2], kMergeSeed + 1) % 3];
  }
  const std::uint64_t position = (std::uint64_t{cell[2]} << 32) | (cell[1] << 16) | cell[0];
  const std::uint64_t random = Hash(cell[0], cell[1], cell[2], kIdSeed) & 0xff;
  return (std::uint64_t{1} << 56) + (position << 8 | random);
}

struct Candidate {
  SiteCell cell;
  std::array<float, 8> distances;  // squared, at the corners of the block
  std::uint64_t label = 0;
};

std::array<float, 8> SquaredDistances(const std::array<Point, 8>& corners, const Point& site) {
  std::array<float, 8> squared{};
  for (std::size_t k = 0; k < 8; ++k) {
    for (std::size_t d = 0; d < 3; ++d) {
      squared[k] += (corners[k][d] - site[d]) * (corners[k][d] - site[d]);
    }
  }
  return squared;
}

// The sites that matter within one block: at some corner they are not far behind the site at the
// block's center. Between the corners the difference of two interpolated distances stays within
// its values at the corners.
std::vector<Candidate> CandidatesOf(const std::array<Point, 8>& corners) {
  Point center{};
  for (const Point& corner : corners) {
    for (std::size_t d = 0; d < 3; ++d) center[d] += corner[d] / 8.0F;
  }
  std::vector<Candidate> candidates;
  std::array<float, 8> nearest{};
  float nearest_sum = 1e30F;
  for (std::uint32_t i = 0; i < 27; ++i) {
    const SiteCell cell{static_cast<std::uint32_t>(center[0]) + i % 3 - 1,
                        static_cast<std::uint32_t>(center[1]) + i / 3 % 3 - 1,
                        static_cast<std::uint32_t>(center[2]) + i / 9 - 1};
    candidates.push_back({cell, SquaredDistances(corners, SiteOf(cell))});
    float sum = 0;
    for (const float distance : candidates.back().distances) sum += distance;
    if (sum < nearest_sum) {
      nearest_sum = sum;
      nearest = candidates.back().distances;
    }
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    for (std::size_t k = 0; k < 8; ++k) {
      if (candidate.distances[k] - nearest[k] <= kFarDifference) return false;
    }
    return true;
  });
  for (Candidate& candidate : candidates) candidate.label = LabelOf(candidate.cell);
  const bool uniform = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return one.label == candidates.front().label;
  });
  if (uniform) candidates.resize(1);
  return candidates;
}

// The nearest label to a voxel, and how much farther the nearest other label is.
struct Nearest {
  std::uint64_t label = 0;
  float best = 1e30F;
  float second = 1e30F;

  void Add(std::uint64_t other, float distance) {
    if (distance < best) {
      if (other != label) second = best;
      best = distance;
      label = other;
    } else if (other != label && distance < second) {
      second = distance;
    }
  }
};

// `at` is the first voxel of the block in the tile.
void FillBlock(const std::vector<Candidate>& candidates, std::size_t at, LabelTile& tile) {
  for (std::size_t row = 0; row < kBlock * kBlock; ++row) {
    const std::size_t y = row % kBlock;
    const std::size_t z = row / kBlock;
    std::array<Nearest, kBlock> nearest;
    for (const Candidate& candidate : candidates) {
      const float ty = static_cast<float>(y) / kBlock;
      const float tz = static_cast<float>(z) / kBlock;
      const float begin = LerpCube(candidate.distances, 0, ty, tz);
      const float step = (LerpCube(candidate.distances, 1, ty, tz) - begin) / kBlock;
      for (std::size_t x = 0; x < kBlock; ++x) {
        nearest[x].Add(candidate.label, begin + step * static_cast<float>(x));
      }
    }
    const std::size_t to = at + kEdge * (y + kEdge * z);
    for (std::size_t x = 0; x < kBlock; ++x) {
      const float lead = nearest[x].second - nearest[x].best;
      tile.labels[to + x] = nearest[x].label;
      tile.boundary_distances[to + x] = std::min(kFarFromBoundary, kVoxelsPerDifference * lead);
    }
  }
}

}  // namespace

LabelTile MakeLabels(const Position& origin) {
  LabelTile tile{std::vector<std::uint64_t>(kTileVoxels), std::vector<float>(kTileVoxels)};
  constexpr std::size_t kCorners = kBlocks + 1;
  std::vector<Point> points(kCorners * kCorners * kCorners);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = ToSiteSpace({origin[0] + kBlock * (i % kCorners),
                             origin[1] + kBlock * (i / kCorners % kCorners),
                             origin[2] + kBlock * (i / kCorners / kCorners)});
  }
  for (std::size_t i = 0; i < kBlocks * kBlocks * kBlocks; ++i) {
    const std::array<std::size_t, 3> b{i % kBlocks, i / kBlocks % kBlocks, i / kBlocks / kBlocks};
    std::array<Point, 8> corners;
    for (std::size_t k = 0; k < 8; ++k) {
      corners[k] =
          points[b[0] + (k & 1) + kCorners * (b[1] + (k >> 1 & 1) + kCorners * (b[2] + (k >> 2)))];
    }
    FillBlock(CandidatesOf(corners), kBlock * (b[0] + kEdge * (b[1] + kEdge * b[2])), tile);
  }
  return tile;
}

}  // namespace unshard::sample
