#include "codec/volume_file/volume_file.h"

#include <algorithm>

#include "codec/volume_file/nifti.h"
#include "codec/volume_file/npy.h"
#include "codec/volume_file/nrrd.h"
#include "codec/volume_file/raw.h"

namespace unshard {
namespace {

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
