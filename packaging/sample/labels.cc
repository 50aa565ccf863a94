// Cells are the Voronoi cells of a jittered lattice, seen through a smooth warp of space; some
// cells take the label of a neighbour, so that labels branch and are not convex. What makes it
// fast: the squared distances to sites are computed at the corners of blocks of 8 × 8 × 8 voxels
// and interpolated between them, and only for sites that can matter within the block.
#include "packaging/sample/labels.h"

#include <algorithm>
#include <span>

#include "packaging/sample/noise.h"

namespace unshard {
namespace {

constexpr std::size_t kBlock = 8;
constexpr std::size_t kCorners = kSampleTileExtent / kBlock + 1;  // per dimension of a tile

// Distance between sites in voxels; cells are longer in z, as neurites along a tract are.
constexpr std::array<float, 3> kSiteSpacing{66.0F, 60.0F, 92.0F};
constexpr float kJitter = 0.6F;
// In units of the site lattice.
constexpr float kCoarseWarp = 0.9F;
constexpr float kFineWarp = 0.16F;
// A step of one voxel across a boundary changes the difference of two squared distances by about
// twice the reciprocal of the spacing.
constexpr float kVoxelsPerDifference = 33.0F;
constexpr float kFarDifference = kSampleFarFromBoundary / kVoxelsPerDifference;
constexpr float kShareOfMergedSites = 0.35F;

enum Seed : std::uint32_t { kJitterSeed = 11, kMergeSeed = 21, kIdSeed = 31, kWarpSeed = 41 };

using Point = std::array<float, 3>;
using SiteCell = std::array<std::uint32_t, 3>;

// The position among the sites; offset by some cells so that it stays positive.
Point ToSiteSpace(const SamplePosition& voxel) {
  const Point at{static_cast<float>(voxel[0]), static_cast<float>(voxel[1]),
                 static_cast<float>(voxel[2])};
  Point point;
  for (std::uint32_t d = 0; d < 3; ++d) {
    const float coarse = SampleNoise(at[0], at[1], at[2], 97.0F, kWarpSeed + d);
    const float fine = SampleNoise(at[0], at[1], at[2], 23.0F, kWarpSeed + 3 + d);
    point[d] = at[d] / kSiteSpacing[d] + kCoarseWarp * coarse + kFineWarp * fine + 2.0F;
  }
  return point;
}

Point SiteOf(const SiteCell& cell) {
  Point site;
  for (std::uint32_t d = 0; d < 3; ++d) {
    const float random = SampleUnitHash(cell[0], cell[1], cell[2], kJitterSeed + d);
    site[d] = static_cast<float>(cell[d]) + 0.5F + kJitter * (random - 0.5F);
  }
  return site;
}

// Labels do not fit 53 bits, as those of real segmentations often do not.
std::uint64_t LabelOf(SiteCell cell) {
  if (SampleUnitHash(cell[0], cell[1], cell[2], kMergeSeed) < kShareOfMergedSites) {
    ++cell[SampleHash(cell[0], cell[1], cell[2], kMergeSeed + 1) % 3];
  }
  const std::uint64_t position = (std::uint64_t{cell[2]} << 32) | (cell[1] << 16) | cell[0];
  const std::uint64_t random = SampleHash(cell[0], cell[1], cell[2], kIdSeed) & 0xff;
  return (std::uint64_t{1} << 56) + (position << 8 | random);
}

struct Site {
  Point position;
  std::uint64_t label;
};

// The sites around one tile.
class SiteNeighborhood {
 public:
  // Covers every cell that touches the cell of one of the points.
  explicit SiteNeighborhood(std::span<const Point> points) {
    Point least = points.front();
    Point most = points.front();
    for (const Point& point : points) {
      for (std::size_t d = 0; d < 3; ++d) {
        least[d] = std::min(least[d], point[d]);
        most[d] = std::max(most[d], point[d]);
      }
    }
    for (std::size_t d = 0; d < 3; ++d) {
      first_[d] = static_cast<std::uint32_t>(least[d]) - 1;
      count_[d] = static_cast<std::uint32_t>(most[d]) + 2 - first_[d];
    }
    for (std::uint32_t i = 0; i < count_[0] * count_[1] * count_[2]; ++i) {
      const SiteCell cell{first_[0] + i % count_[0], first_[1] + i / count_[0] % count_[1],
                          first_[2] + i / count_[0] / count_[1]};
      sites_.push_back({SiteOf(cell), LabelOf(cell)});
    }
  }

  [[nodiscard]] const Site& At(const SiteCell& cell) const {
    return sites_[cell[0] - first_[0] +
                  count_[0] * (cell[1] - first_[1] + count_[1] * (cell[2] - first_[2]))];
  }

 private:
  SiteCell first_{};
  SiteCell count_{};
  std::vector<Site> sites_;
};

struct Candidate {
  std::uint64_t label;
  std::array<float, 8> distances;  // squared, at the corners of the block
};

// The sites that matter within one block.
class BlockCandidates {
 public:
  BlockCandidates(const std::array<Point, 8>& corners, const SiteNeighborhood& sites) {
    Point center{};
    for (const Point& corner : corners) {
      for (std::size_t d = 0; d < 3; ++d) center[d] += corner[d] / 8.0F;
    }
    for (std::uint32_t i = 0; i < 27; ++i) {
      const SiteCell cell{static_cast<std::uint32_t>(center[0]) + i % 3 - 1,
                          static_cast<std::uint32_t>(center[1]) + i / 3 % 3 - 1,
                          static_cast<std::uint32_t>(center[2]) + i / 9 - 1};
      AddSite(sites.At(cell), corners);
    }
    DropFarSites();
  }

  [[nodiscard]] std::span<const Candidate> candidates() const {
    return {candidates_.data(), count_};
  }

 private:
  void AddSite(const Site& site, const std::array<Point, 8>& corners) {
    Candidate& candidate = candidates_[count_];
    candidate.label = site.label;
    float sum = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      float squared = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const float difference = corners[k][d] - site.position[d];
        squared += difference * difference;
      }
      candidate.distances[k] = squared;
      sum += squared;
    }
    if (sum < nearest_sum_) {
      nearest_sum_ = sum;
      nearest_ = count_;
    }
    ++count_;
  }

  // A site matters only where at some corner it is not far behind the nearest one: between the
  // corners the difference of two interpolated distances stays within its values at the corners.
  void DropFarSites() {
    const std::array<float, 8> nearest = candidates_[nearest_].distances;
    const auto is_far = [&](const Candidate& candidate) {
      for (std::size_t k = 0; k < 8; ++k) {
        if (candidate.distances[k] - nearest[k] <= kFarDifference) return false;
      }
      return true;
    };
    const auto end = std::remove_if(candidates_.begin(), candidates_.end(), is_far);
    count_ = static_cast<std::size_t>(end - candidates_.begin());
  }

  std::array<Candidate, 27> candidates_;
  std::size_t count_ = 0;
  std::size_t nearest_ = 0;
  float nearest_sum_ = 1e30F;
};

// Four values in one register: this is the innermost loop, and compilers do not find it themselves
// at the usual optimisation level.
using Floats = float __attribute__((vector_size(16)));
using Numbers = std::int32_t __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;

// Finds the nearest label, and how much farther the nearest other label is, for a row of voxels.
class RowSearch {
 public:
  // Takes into account a site with label `number` at the squared distances first + step * x.
  void Add(std::int32_t number, float first, float step) {
    Floats distance = first + step * Floats{0, 1, 2, 3};
    for (std::size_t i = 0; i < kBlock / kLanes; ++i, distance += step * kLanes) {
      const Numbers closer = distance < best_[i];
      const Floats other = closer ? best_[i] : (second_[i] < distance ? second_[i] : distance);
      second_[i] = number_[i] == number ? second_[i] : other;
      best_[i] = closer ? distance : best_[i];
      number_[i] = closer ? (Numbers{} + number) : number_[i];
    }
  }

  [[nodiscard]] std::size_t number(std::size_t x) const {
    return static_cast<std::size_t>(number_[x / kLanes][x % kLanes]);
  }
  [[nodiscard]] float lead(std::size_t x) const {
    return second_[x / kLanes][x % kLanes] - best_[x / kLanes][x % kLanes];
  }

 private:
  static constexpr Floats kNothing{1e30F, 1e30F, 1e30F, 1e30F};
  std::array<Floats, kBlock / kLanes> best_{kNothing, kNothing};
  std::array<Floats, kBlock / kLanes> second_{kNothing, kNothing};
  std::array<Numbers, kBlock / kLanes> number_{Numbers{-1, -1, -1, -1}, Numbers{-1, -1, -1, -1}};
};

void FillUniformBlock(std::uint64_t label, std::size_t at, SampleLabelTile& tile) {
  for (std::size_t row = 0; row < kBlock * kBlock; ++row) {
    const std::size_t begin =
        at + kSampleTileExtent * (row % kBlock + kSampleTileExtent * (row / kBlock));
    std::fill_n(&tile.labels[begin], kBlock, label);
    std::fill_n(&tile.boundary_distances[begin], kBlock, kSampleFarFromBoundary);
  }
}

void FillMixedBlock(std::span<const Candidate> candidates, std::size_t at, SampleLabelTile& tile) {
  // Candidates with one label count as one: the number of a label is its first candidate's.
  std::array<std::int32_t, 27> numbers{};
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    std::uint32_t first = 0;
    while (candidates[first].label != candidates[i].label) ++first;
    numbers[i] = static_cast<std::int32_t>(first);
  }
  for (std::size_t row = 0; row < kBlock * kBlock; ++row) {
    const float y = static_cast<float>(row % kBlock) / kBlock;
    const float z = static_cast<float>(row / kBlock) / kBlock;
    RowSearch search;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const float begin = LerpCube(candidates[i].distances, 0, y, z);
      const float end = LerpCube(candidates[i].distances, 1, y, z);
      search.Add(numbers[i], begin, (end - begin) / kBlock);
    }
    const std::size_t to =
        at + kSampleTileExtent * (row % kBlock + kSampleTileExtent * (row / kBlock));
    for (std::size_t x = 0; x < kBlock; ++x) {
      tile.labels[to + x] = candidates[search.number(x)].label;
      tile.boundary_distances[to + x] =
          std::min(kSampleFarFromBoundary, kVoxelsPerDifference * search.lead(x));
    }
  }
}

}  // namespace

void FillSampleLabels(const SamplePosition& origin, SampleLabelTile& tile) {
  tile.labels.resize(kSampleTileVoxels);
  tile.boundary_distances.resize(kSampleTileVoxels);
  std::vector<Point> points(kCorners * kCorners * kCorners);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = ToSiteSpace({origin[0] + kBlock * (i % kCorners),
                             origin[1] + kBlock * (i / kCorners % kCorners),
                             origin[2] + kBlock * (i / kCorners / kCorners)});
  }
  const SiteNeighborhood sites(points);
  constexpr std::size_t kBlocks = kCorners - 1;
  for (std::size_t i = 0; i < kBlocks * kBlocks * kBlocks; ++i) {
    const std::array<std::size_t, 3> b{i % kBlocks, i / kBlocks % kBlocks, i / kBlocks / kBlocks};
    std::array<Point, 8> corners;
    for (std::size_t k = 0; k < 8; ++k) {
      corners[k] =
          points[b[0] + (k & 1) + kCorners * (b[1] + (k >> 1 & 1) + kCorners * (b[2] + (k >> 2)))];
    }
    const BlockCandidates block(corners, sites);
    const auto candidates = block.candidates();
    const std::size_t at = kBlock * (b[0] + kSampleTileExtent * (b[1] + kSampleTileExtent * b[2]));
    const bool uniform = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return c.label == candidates.front().label;
    });
    if (uniform) {
      FillUniformBlock(candidates.front().label, at, tile);
    } else {
      FillMixedBlock(candidates, at, tile);
    }
  }
}

}  // namespace unshard
