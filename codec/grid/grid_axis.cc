#include "codec/grid/grid_axis.h"

#include <algorithm>

#include "codec/core/byte_range.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxEnd = ~std::uint64_t{0} >> 1;

}  // namespace

Result<GridAxis> GridAxis::Regular(std::uint64_t extent, std::uint64_t cell_extent) {
  if (cell_extent == 0) {
    return Fail(ErrorCode::kDataLoss, "expected a chunk extent of 1 or more, found 0");
  }
  GridAxis axis;
  axis.extent_ = extent;
  axis.cells_ = extent / cell_extent + (extent % cell_extent != 0);
  axis.max_cell_extent_ = cell_extent;
  return axis;
}

Result<GridAxis> GridAxis::Make(std::uint64_t extent, std::span<const CellRun> runs) {
  GridAxis axis;
  axis.extent_ = extent;
  std::uint64_t cells = 0, begin = 0;
  for (const CellRun& run : runs) {
    if (run.cell_extent == 0 || run.count == 0) {
      return Fail(ErrorCode::kDataLoss, "expected chunk extents and counts of 1 or more, found 0");
    }
    if (axis.runs_.empty() || axis.runs_.back().cell_extent != run.cell_extent) {
      axis.runs_.push_back({cells, begin, run.cell_extent});
    }
    axis.max_cell_extent_ = std::max(axis.max_cell_extent_, run.cell_extent);
    const auto length = CheckedMultiply(run.cell_extent, run.count);
    if (!length || *length > kMaxEnd - begin) {
      return Fail(ErrorCode::kDataLoss, "expected chunk extents whose sum is below 2^63");
    }
    begin += *length;
    cells += run.count;
  }
  if (axis.runs_.empty() || begin < extent) {
    return Fail(ErrorCode::kDataLoss, "expected chunk extents whose sum is ", extent,
                " or more, found ", begin);
  }
  if (axis.runs_.size() == 1) return Regular(extent, axis.max_cell_extent_);
  axis.cells_ = extent == 0 ? 0 : axis.CellAt(extent - 1) + 1;
  return axis;
}

const GridAxis::Run& GridAxis::RunOfCell(std::uint64_t cell) const {
  const auto above = std::upper_bound(
      runs_.begin(), runs_.end(), cell,
      [](std::uint64_t wanted, const Run& run) { return wanted < run.first_cell; });
  return *(above - 1);
}

const GridAxis::Run& GridAxis::RunAt(std::uint64_t position) const {
  const auto above =
      std::upper_bound(runs_.begin(), runs_.end(), position,
                       [](std::uint64_t wanted, const Run& run) { return wanted < run.begin; });
  return *(above - 1);
}

std::uint64_t GridAxis::CellAt(std::uint64_t position) const {
  if (is_regular()) return position / max_cell_extent_;
  const Run& run = RunAt(position);
  return run.first_cell + (position - run.begin) / run.cell_extent;
}

std::uint64_t GridAxis::Begin(std::uint64_t cell) const {
  if (is_regular()) return cell * max_cell_extent_;
  const Run& run = RunOfCell(cell);
  return run.begin + (cell - run.first_cell) * run.cell_extent;
}

std::uint64_t GridAxis::End(std::uint64_t cell) const {
  const std::uint64_t begin = Begin(cell);
  return begin + std::min(CellExtent(cell), extent_ - begin);
}

std::uint64_t GridAxis::CellExtent(std::uint64_t cell) const {
  return is_regular() ? max_cell_extent_ : RunOfCell(cell).cell_extent;
}

std::optional<std::uint64_t> GridAxis::CellExtentNotDividedBy(std::uint64_t unit) const {
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [&](const Run& run) { return run.cell_extent % unit != 0; });
  if (found != runs_.end()) return found->cell_extent;
  if (is_regular() && max_cell_extent_ % unit != 0) return max_cell_extent_;
  return std::nullopt;
}

// The multiples that a run contains have the distance `cell_extent`.
bool GridAxis::DividesRegular(std::uint64_t cell_extent) const {
  if (cell_extent >= extent_) return true;
  if (is_regular()) return cell_extent % max_cell_extent_ == 0;
  for (std::size_t i = 0; i < runs_.size() && runs_[i].begin < extent_; ++i) {
    const Run& run = runs_[i];
    const std::uint64_t end =
        i + 1 < runs_.size() ? std::min(runs_[i + 1].begin, extent_) : extent_;
    const std::uint64_t before = run.begin % cell_extent;
    const std::uint64_t to_first = before == 0 ? 0 : cell_extent - before;
    const std::uint64_t length = end - run.begin;
    if (to_first >= length) continue;
    if (to_first % run.cell_extent != 0) return false;
    if (cell_extent < length - to_first && cell_extent % run.cell_extent != 0) return false;
  }
  return true;
}

// The first of the regular cells is a union of the first cells.
std::optional<std::uint64_t> GridAxis::RegularUnion(std::uint64_t most) const {
  if (is_regular()) return max_cell_extent_;
  if (cells_ <= 1) return CellExtent(0);
  for (std::uint64_t last = 0; last < std::min(most, cells_); ++last) {
    const std::uint64_t extent = End(last);
    if (DividesRegular(extent)) {
      return MostCellsIn(extent) <= most ? std::optional(extent) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::uint64_t GridAxis::MostCellsIn(std::uint64_t extent) const {
  std::uint64_t least = max_cell_extent_;
  for (const Run& run : runs_) least = std::min(least, run.cell_extent);
  return std::min(cells_, extent / least + (extent % least != 0));
}

std::vector<CellRun> GridAxis::Runs() const {
  if (is_regular()) return {{max_cell_extent_, cells_}};
  std::vector<CellRun> runs;
  for (std::size_t i = 0; i < runs_.size() && runs_[i].first_cell < cells_; ++i) {
    const std::uint64_t end = i + 1 < runs_.size() ? runs_[i + 1].first_cell : cells_;
    runs.push_back({runs_[i].cell_extent, std::min(end, cells_) - runs_[i].first_cell});
  }
  return runs;
}

GridAxis GridAxis::InUnitsOf(std::uint64_t unit) const {
  GridAxis axis = *this;
  for (Run& run : axis.runs_) {
    run.begin /= unit;
    run.cell_extent /= unit;
  }
  axis.extent_ = extent_ / unit + (extent_ % unit != 0);
  axis.max_cell_extent_ = max_cell_extent_ / unit;
  return axis;
}

}  // namespace unshard
