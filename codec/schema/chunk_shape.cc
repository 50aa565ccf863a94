#include "codec/schema/chunk_shape.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace unshard {
namespace {

constexpr std::int64_t kDefaultElements = std::int64_t{1} << 20;
// The largest double below 2^62.
constexpr double kMaxExtent = 0x1.0p62 - 512;
constexpr int kMaxSteps = 100;

// Of the extents that fit the other kind of chunks, the nearest to `extent`.
using FitExtent = std::function<std::int64_t(std::size_t dimension, std::int64_t extent)>;

struct Started {
  std::vector<std::int64_t> shape;  // 0: still free
  std::vector<bool> hard;
};

Result<Started> StartShape(const Constraints<std::int64_t>& constraints, const Extents& extents) {
  if (!constraints.empty() && constraints.size() != extents.size()) {
    return Fail(ErrorCode::kInvalidArgument, "chunk_layout: expected rank ", extents.size(),
                ", found rank ", constraints.size());
  }
  Started started;
  started.shape.resize(extents.size(), 0);
  started.hard.resize(extents.size(), false);
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if (!constraints[i].value) continue;
    started.shape[i] = *constraints[i].value;
    started.hard[i] = constraints[i].hard();
    if (started.shape[i] != -1) continue;
    if (!extents[i]) {
      return Fail(ErrorCode::kInvalidArgument, "chunk_layout: dimension ", i,
                  " asks for chunks of the whole extent (-1), but the domain has no bounds there");
    }
    started.shape[i] = std::max<std::int64_t>(1, *extents[i]);
  }
  return started;
}

// Chooses the free extents as ratio × factor: a larger factor makes larger chunks. The factor whose
// chunks have the target number of elements, or are the largest ones below, is bisected.
class FreeExtents {
 public:
  FreeExtents(const ChunkShapeConstraints& constraints, const Extents& extents,
              const FitExtent& fit, std::vector<std::int64_t>& shape)
      : target_(constraints.elements.value.value_or(kDefaultElements)), fit_(fit), shape_(shape) {
    double largest = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool given = i < constraints.aspect_ratio.size() && constraints.aspect_ratio[i].value;
      ratios_.push_back(given ? *constraints.aspect_ratio[i].value : 1.0);
      if (shape[i] == 0) largest = std::max(largest, ratios_.back());
      double cap = static_cast<double>(target_);
      if (extents[i]) cap = std::min(cap, std::max(1.0, static_cast<double>(*extents[i])));
      caps_.push_back(std::min(cap, kMaxExtent));
    }
    for (double& ratio : ratios_) ratio /= largest;
  }

  void Choose() {
    double step = std::numeric_limits<double>::infinity();
    double high = 0;
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      if (shape_[i] != 0) continue;
      step = std::min(step, 1.0 / ratios_[i]);
      high = std::max(high, caps_[i] / ratios_[i]);
    }
    step /= 2;
    high *= 2;
    double low = step;
    std::int64_t elements_at_high = Elements(high);
    for (int i = 0; i < kMaxSteps && low + step < high; ++i) {
      const double middle = high > 4 * low ? std::sqrt(low * high) : low + (high - low) / 2;
      const std::int64_t elements = Elements(middle);
      if (elements >= target_) {
        high = middle;
        elements_at_high = elements;
      }
      if (elements <= target_) low = middle;
    }
    const double factor = elements_at_high == target_ ? high : low;
    std::vector<std::int64_t> chosen;
    for (std::size_t i = 0; i < shape_.size(); ++i) chosen.push_back(Extent(i, factor));
    shape_ = std::move(chosen);
  }

 private:
  [[nodiscard]] std::int64_t Extent(std::size_t i, double factor) const {
    if (shape_[i] != 0) return shape_[i];
    const double wanted = ratios_[i] * factor;  // NaN where a ratio underflowed to 0
    const auto extent = static_cast<std::int64_t>(wanted < caps_[i] ? wanted : caps_[i]);
    return fit_(i, std::max<std::int64_t>(1, extent));
  }

  // At most 2^63 - 1.
  [[nodiscard]] std::int64_t Elements(double factor) const {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    std::int64_t total = 1;
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      const std::int64_t extent = Extent(i, factor);
      if (extent > kMax / total) return kMax;
      total *= extent;
    }
    return total;
  }

  std::int64_t target_;
  const FitExtent& fit_;
  std::vector<std::int64_t>& shape_;
  std::vector<double> ratios_;
  std::vector<double> caps_;
};

Status Complete(const ChunkShapeConstraints& constraints, const Extents& extents,
                const FitExtent& fit, std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) == shape.end()) return {};
  if (!constraints.aspect_ratio.empty() && constraints.aspect_ratio.size() != shape.size()) {
    return Fail(ErrorCode::kInvalidArgument, "chunk_layout: the aspect ratios have another rank");
  }
  FreeExtents(constraints, extents, fit, shape).Choose();
  return {};
}

// The smaller of two equally near ones.
std::int64_t NearestDivisor(std::int64_t dividend, std::int64_t target) {
  constexpr std::int64_t kSearched = 1000000;
  if (target >= dividend) return dividend;
  if (dividend % target == 0) return target;
  for (std::int64_t distance = 1; distance < kSearched; ++distance) {
    if (target > distance && dividend % (target - distance) == 0) return target - distance;
    if (dividend % (target + distance) == 0) return target + distance;
  }
  return dividend;
}

// The smaller of two equally near ones.
std::int64_t NearestMultiple(std::int64_t divisor, std::int64_t target) {
  if (target < divisor) return divisor;
  const std::int64_t lower = target / divisor * divisor;
  const std::int64_t distance = target - lower;
  if (distance <= divisor - distance || lower > kInfiniteIndex - divisor) return lower;
  return lower + divisor;
}

}  // namespace

Result<std::vector<std::int64_t>> ChooseChunkShape(const ChunkShapeConstraints& constraints,
                                                   const Extents& extents) {
  UNSHARD_ASSIGN_OR_RETURN(Started started, StartShape(constraints.shape, extents));
  const FitExtent as_it_is = [](std::size_t, std::int64_t extent) { return extent; };
  UNSHARD_RETURN_IF_ERROR(Complete(constraints, extents, as_it_is, started.shape));
  return std::move(started.shape);
}

tl::unexpected<Error> NoMultiple(std::int64_t shard, std::int64_t chunk, std::size_t dimension) {
  const std::int64_t below = shard / chunk * chunk;
  return Fail(ErrorCode::kInvalidArgument, "chunk_layout: write chunks of ", shard,
              " are not a multiple of read chunks of ", chunk, " along dimension ", dimension, "; ",
              below > 0 ? std::to_string(below) + " or " : "", below + chunk, " would fit");
}

Result<ChunkShapes> ChooseChunkShapes(const ChunkShapeConstraints& read,
                                      const ChunkShapeConstraints& write, const Extents& extents) {
  UNSHARD_ASSIGN_OR_RETURN(Started writes, StartShape(write.shape, extents));
  UNSHARD_ASSIGN_OR_RETURN(Started reads, StartShape(read.shape, extents));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    std::int64_t& read_extent = reads.shape[i];
    std::int64_t& write_extent = writes.shape[i];
    if (read_extent == 0 || write_extent == 0 || write_extent % read_extent == 0) continue;
    if (reads.hard[i] && writes.hard[i]) {
      return NoMultiple(write_extent, read_extent, i);
    }
    if (reads.hard[i]) {
      write_extent = NearestMultiple(read_extent, write_extent);
    } else {
      read_extent = NearestDivisor(write_extent, read_extent);
    }
  }
  const FitExtent divisor = [&writes](std::size_t i, std::int64_t extent) {
    return writes.shape[i] != 0 ? NearestDivisor(writes.shape[i], extent) : extent;
  };
  UNSHARD_RETURN_IF_ERROR(Complete(read, extents, divisor, reads.shape));
  const FitExtent multiple = [&reads](std::size_t i, std::int64_t extent) {
    return NearestMultiple(reads.shape[i], extent);
  };
  UNSHARD_RETURN_IF_ERROR(Complete(write, extents, multiple, writes.shape));
  return ChunkShapes{std::move(reads.shape), std::move(writes.shape)};
}

}  // namespace unshard
