#include <algorithm>

#include "codec/types/npy_header.h"
#include "codec/volume_file/body.h"
#include "codec/volume_file/formats.h"

namespace unshard {

Result<VolumeFileLayout> DescribeNpy(const VolumeFileSource& source) {
  if (FindDataTypeNames(source.type) == nullptr ||
      source.type.kind == DataType::Kind::kBrainFloat) {
    return NoSuchType("npy", source.type);
  }
  UNSHARD_ASSIGN_OR_RETURN(VolumeFileLayout layout, LayoutInOrder(source, StoredOrder(source)));
  NpyHeader header{{source.type}, source.fastest_first, source.shape};
  if (source.fastest_first) std::reverse(header.shape.begin(), header.shape.end());
  layout.header = MakeNpyHeader(header);
  return layout;
}

}  // namespace unshard
