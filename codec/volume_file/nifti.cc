#include <algorithm>
#include <limits>

#include "codec/volume_file/body.h"
#include "codec/volume_file/formats.h"

namespace unshard {
namespace {

constexpr std::int16_t kVectorIntent = 1007;
constexpr std::int16_t kAlignedAnat = 2;  // of qform and sform: not the coordinates of a scanner
constexpr std::uint8_t kMicrometres = 3;
constexpr double kNanometresInMicrometre = 1000;
constexpr std::string_view kDescription = "unshard";

// The offsets of the fields in the header, in bytes, in each of the two versions.
struct Fields {
  std::size_t header_bytes, voxels_at, dim, intent_code, datatype, bitpix, pixdim, vox_offset,
      scl_slope, xyzt_units, descrip, qform_code, sform_code, qoffset, srow, magic;
};
constexpr Fields kVersion1 = {348, 352, 40,  68,  70,  72,  76,  108,
                              112, 123, 148, 252, 254, 268, 280, 344};
constexpr Fields kVersion2 = {540, 544, 16,  504, 12,  14,  104, 168,
                              176, 500, 240, 344, 348, 376, 400, 4};

template <class T>
void Store(ByteVector& header, std::size_t at, T value) {
  StoreLe(&header[at], value);
}

// The types of fields: `Size` of dim, `Offset` of vox_offset, `Real` of lengths, `Code` of
// intent_code, qform_code and sform_code.
template <class Size, class Offset, class Real, class Code>
ByteVector MakeHeader(const Fields& fields, const VolumeFileSource& source, std::int16_t type) {
  ByteVector header(fields.voxels_at, 0);
  Store(header, 0, static_cast<std::int32_t>(fields.header_bytes));
  const SpatialAxes& space = *source.space;
  std::array<std::uint64_t, 8> dim = {space.channel ? 5u : 3u, 1, 1, 1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    if (space.xyz[i].axis) dim[i + 1] = source.shape[*space.xyz[i].axis];
  }
  if (space.channel) dim[5] = source.shape[*space.channel];
  for (std::size_t i = 0; i < 8; ++i) {
    Store(header, fields.dim + i * sizeof(Size), static_cast<Size>(dim[i]));
    // Set below for the axes in space; pixdim[0] is the sign of the z axis.
    Store(header, fields.pixdim + i * sizeof(Real), Real{1});
  }
  if (space.channel) Store(header, fields.intent_code, Code{kVectorIntent});
  Store(header, fields.datatype, type);
  Store(header, fields.bitpix, static_cast<std::int16_t>(source.type.size * 8));
  Store(header, fields.vox_offset, static_cast<Offset>(fields.voxels_at));
  Store(header, fields.scl_slope, Real{1});
  std::copy(kDescription.begin(), kDescription.end(),
            header.begin() + static_cast<std::ptrdiff_t>(fields.descrip));
  Store(header, fields.qform_code, Code{kAlignedAnat});
  Store(header, fields.sform_code, Code{kAlignedAnat});
  header[fields.xyzt_units] = kMicrometres;
  for (std::size_t i = 0; i < 3; ++i) {
    const double size = space.xyz[i].resolution / kNanometresInMicrometre;
    const double origin = space.xyz[i].offset * size;
    Store(header, fields.pixdim + (i + 1) * sizeof(Real), static_cast<Real>(size));
    Store(header, fields.qoffset + i * sizeof(Real), static_cast<Real>(origin));
    const std::size_t row = fields.srow + i * 4 * sizeof(Real);
    Store(header, row + i * sizeof(Real), static_cast<Real>(size));
    Store(header, row + 3 * sizeof(Real), static_cast<Real>(origin));
  }
  return header;
}

void StoreMagic(ByteVector& header, std::size_t at, std::string_view magic) {
  std::copy(magic.begin(), magic.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

Result<VolumeFileLayout> DescribeNifti(const VolumeFileSource& source) {
  const DataTypeNames* const type = FindDataTypeNames(source.type);
  if (type == nullptr || type->nifti == 0) return NoSuchType("nii", source.type);
  UNSHARD_ASSIGN_OR_RETURN(std::vector<std::size_t> order, ImageOrder("nii", source));
  UNSHARD_ASSIGN_OR_RETURN(VolumeFileLayout layout, LayoutInOrder(source, std::move(order)));
  const bool is_large = std::any_of(source.shape.begin(), source.shape.end(), [](auto size) {
    return size > std::numeric_limits<std::int16_t>::max();
  });
  if (is_large) {
    layout.header = MakeHeader<std::int64_t, std::int64_t, double, std::int32_t>(kVersion2, source,
                                                                                 type->nifti);
    StoreMagic(layout.header, kVersion2.magic, {"n+2\0\r\n\032\n", 8});
  } else {
    layout.header =
        MakeHeader<std::int16_t, float, float, std::int16_t>(kVersion1, source, type->nifti);
    StoreMagic(layout.header, kVersion1.magic, {"n+1\0", 4});
  }
  return layout;
}

}  // namespace unshard
