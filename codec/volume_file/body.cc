#include "codec/volume_file/body.h"

#include <algorithm>

#include "codec/chain/transpose.h"

namespace unshard {

std::vector<std::size_t> StoredOrder(const VolumeFileSource& source) {
  return IdentityOrder(source.shape.size());
}

Result<VolumeFileLayout> LayoutInOrder(const VolumeFileSource& source,
                                       std::vector<std::size_t> order) {
  VolumeFileLayout layout;
  layout.order = std::move(order);
  const bool is_empty = std::any_of(source.shape.begin(), source.shape.end(),
                                    [](std::uint64_t size) { return size == 0; });
  if (is_empty) return layout;
  std::uint64_t bytes = source.type.size;
  for (const std::size_t axis : layout.order) {
    if (source.shape[axis] > kMaxBodyBytes / bytes) {
      return Fail(ErrorCode::kNotSupported, "one file would have more than 2^62 bytes");
    }
    bytes *= source.shape[axis];
  }
  layout.body_bytes = bytes;
  return layout;
}

Result<std::vector<std::size_t>> ImageOrder(std::string_view format,
                                            const VolumeFileSource& source) {
  const std::string name(format);
  if (!source.space) {
    return Forward(source.space.error(), name + " files hold images in space");
  }
  std::vector<std::size_t> order;
  if (source.space->channel) order.push_back(*source.space->channel);
  for (std::size_t i = 3; i-- > 0;) {
    if (source.space->xyz[i].axis) order.push_back(*source.space->xyz[i].axis);
  }
  for (std::size_t axis = 0; axis < source.shape.size(); ++axis) {
    const bool has_it = std::find(order.begin(), order.end(), axis) != order.end();
    if (!has_it && source.shape[axis] != 1) {
      return Fail(ErrorCode::kNotSupported, name,
                  " files have only the axes x, y, z and channel; axis ", axis,
                  " of this array is none of them");
    }
  }
  return order;
}

tl::unexpected<Error> NoSuchType(std::string_view format, const DataType& type) {
  return Fail(ErrorCode::kNotSupported, format, " has no type for ", DataTypeName(type));
}

Status ForEachRun(const ChunkGrid& grid, std::span<const std::size_t> order, std::uint64_t first,
                  std::uint64_t count, const std::function<Status(const VolumeRun&)>& visit) {
  const std::size_t rank = grid.rank();
  const std::vector<std::uint64_t>& shape = grid.shape();
  std::vector<std::uint64_t> cell(rank, 0), position(rank, 0), voxel(rank, 0);
  // Where the first voxel is.
  std::uint64_t rest = first;
  for (std::size_t i = order.size(); i-- > 0;) {
    voxel[order[i]] = rest % shape[order[i]];
    rest /= shape[order[i]];
  }
  const std::size_t fastest = order.empty() ? 0 : order.back();
  for (std::uint64_t done = 0; done < count;) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      cell[axis] = grid.axis(axis).CellAt(voxel[axis]);
      position[axis] = voxel[axis] - grid.axis(axis).Begin(cell[axis]);
    }
    std::uint64_t run = 1;
    if (!order.empty()) {
      run = std::min(grid.axis(fastest).End(cell[fastest]) - voxel[fastest], count - done);
    }
    UNSHARD_RETURN_IF_ERROR(visit({cell, position, fastest, run, first + done}));
    done += run;
    // The next voxel: carries go to the slower axes.
    std::uint64_t carry = run;
    for (std::size_t i = order.size(); i-- > 0 && carry > 0;) {
      const std::size_t axis = order[i];
      voxel[axis] += carry;
      carry = voxel[axis] == shape[axis] ? 1 : 0;
      if (carry > 0) voxel[axis] = 0;
    }
  }
  return {};
}

}  // namespace unshard
