#include "codec/volume_file/volume_file.h"

#include <algorithm>

#include "codec/volume_file/body.h"
#include "codec/volume_file/formats.h"

namespace unshard {
namespace {

// The voxels alone; the axes are in the order in which the format of the array lists them.
Result<VolumeFileLayout> DescribeRaw(const VolumeFileSource& source) {
  return LayoutInOrder(source, StoredOrder(source));
}

constexpr std::array kFormats{
    VolumeFileFormat{"nii", DescribeNifti},
    VolumeFileFormat{"npy", DescribeNpy},
    VolumeFileFormat{"nrrd", DescribeNrrd},
    VolumeFileFormat{"raw", DescribeRaw},
};

}  // namespace

std::span<const VolumeFileFormat> VolumeFileFormats() { return kFormats; }

const VolumeFileFormat* FindVolumeFileFormat(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const VolumeFileFormat& each) { return each.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace unshard
