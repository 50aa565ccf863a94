#include "codec/volume_file/source.h"

#include <utility>

#include "codec/pyramid/axis_map.h"

namespace unshard {
namespace {

Result<SpatialAxes> SpaceOf(const SourceDataset& dataset, std::size_t level) {
  const Array& array = dataset.levels[level].array;
  UNSHARD_ASSIGN_OR_RETURN(const PyramidGeometry geometry, ReadGeometry(dataset));
  UNSHARD_ASSIGN_OR_RETURN(
      const AxisMap map,  // of channel, z, y, x
      MapAxes(geometry.axes, array.shape, array.dialect, Dialect::kPrecomputed));
  SpatialAxes space;
  if (map[0] && array.shape[*map[0]] != 1) space.channel = map[0];
  const LevelPosition& position = geometry.levels[level];
  for (std::size_t i = 0; i < space.xyz.size(); ++i) {
    const auto& axis = map[map.size() - 1 - i];
    if (!axis) continue;
    const PyramidAxis& described = geometry.axes[*axis];
    if (!described.unit.empty() && described.unit != "nm") {
      return Fail(ErrorCode::kNotSupported, "the unit ", described.unit, " of the axis ",
                  described.name, " is not a length");
    }
    const double resolution = position.resolution[*axis];
    space.xyz[i] = {axis, resolution, position.corner[*axis] / resolution};
  }
  return space;
}

}  // namespace

VolumeFileSource DescribeLevel(const SourceDataset& dataset, std::size_t level) {
  const Array& array = dataset.levels[level].array;
  VolumeFileSource source;
  source.type = array.data_type;
  source.shape = array.shape;
  source.fastest_first = ListsFastestAxisFirst(array.dialect);
  source.space = SpaceOf(dataset, level);
  return source;
}

}  // namespace unshard
