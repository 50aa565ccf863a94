#include <algorithm>

#include "codec/volume_file/body.h"
#include "codec/volume_file/formats.h"

namespace unshard {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// The voxels begin at a multiple of it, for readers that map the file into memory.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxVersion1 = 65535;

// "(3, 4)", and "(3,)" for one axis.
std::string ShapeText(const VolumeFileSource& source) {
  std::vector<std::uint64_t> shape = source.shape;
  if (source.fastest_first) std::reverse(shape.begin(), shape.end());
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

Result<VolumeFileLayout> DescribeNpy(const VolumeFileSource& source) {
  const DataTypeNames* const type = FindDataTypeNames(source.type);
  if (type == nullptr || source.type.kind == DataType::Kind::kBrainFloat) {
    return NoSuchType("npy", source.type);
  }
  UNSHARD_ASSIGN_OR_RETURN(VolumeFileLayout layout, LayoutInOrder(source, StoredOrder(source)));
  std::string text = "{'descr': '" + std::string(type->dtype) +
                     "', 'fortran_order': " + (source.fastest_first ? "True" : "False") +
                     ", 'shape': " + ShapeText(source) + ", }";
  const auto padded = [&](std::size_t before) {
    const std::size_t end = before + text.size() + 1;
    return (end + kAlignment - 1) / kAlignment * kAlignment - before;
  };
  const bool is_version1 = padded(kMagic.size() + 4) <= kMaxVersion1;
  const std::size_t length = padded(kMagic.size() + (is_version1 ? 4 : 6));
  text.resize(length - 1, ' ');
  text += '\n';
  ByteVector& header = layout.header;
  header.assign(kMagic.begin(), kMagic.end());
  header.push_back(is_version1 ? 1 : 2);
  header.push_back(0);
  AppendLe(header, length, is_version1 ? 2 : 4);
  header.insert(header.end(), text.begin(), text.end());
  return layout;
}

}  // namespace unshard
