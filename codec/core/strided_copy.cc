#include "codec/core/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace unshard {
namespace {

void CopyRuns(const std::uint8_t* from, std::uint8_t* to, std::span<const StridedAxis> axes,
              std::uint64_t run) {
  if (axes.empty()) {
    std::memcpy(to, from, run);
    return;
  }
  const StridedAxis& axis = axes.front();
  for (std::uint64_t i = 0; i < axis.extent; ++i) {
    CopyRuns(from + i * axis.from_stride, to + i * axis.to_stride, axes.subspan(1), run);
  }
}

}  // namespace

void CopyStrided(const std::uint8_t* from, std::uint8_t* to, std::span<const StridedAxis> axes,
                 std::uint64_t item_bytes) {
  const bool is_empty = std::any_of(axes.begin(), axes.end(),
                                    [](const StridedAxis& axis) { return axis.extent == 0; });
  if (is_empty) return;
  // Items that are adjacent in both arrays are copied at once.
  std::uint64_t run = item_bytes;
  for (; !axes.empty(); axes = axes.first(axes.size() - 1)) {
    const StridedAxis& fastest = axes.back();
    const bool is_adjacent = fastest.from_stride == run && fastest.to_stride == run;
    if (fastest.extent != 1 && !is_adjacent) break;
    run *= fastest.extent;
  }
  CopyRuns(from, to, axes, run);
}

std::vector<std::uint64_t> StridesOf(std::span<const std::uint64_t> shape,
                                     std::uint64_t item_bytes) {
  std::vector<std::uint64_t> strides(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = item_bytes;
    item_bytes *= shape[axis];
  }
  return strides;
}

}  // namespace unshard
