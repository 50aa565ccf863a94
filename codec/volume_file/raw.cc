#include "codec/volume_file/raw.h"

#include "codec/volume_file/body.h"

namespace unshard {

Result<VolumeFileLayout> DescribeRaw(const VolumeFileSource& source) {
  return LayoutInOrder(source, StoredOrder(source));
}

}  // namespace unshard
