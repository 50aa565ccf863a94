#include "codec/volume_file/npy.h"

#include <algorithm>

#include "codec/volume_file/body.h"

namespace unshard {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// The voxels begin at a multiple of it, for readers that map the file into memory.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLargestVersion1 = 65535;

struct TypeName {
  std::string_view data_type;
  std::string_view descr;
};
constexpr std::array<TypeName, 14> kTypeNames = {{{"bool", "|b1"},
                                                  {"int8", "|i1"},
                                                  {"uint8", "|u1"},
                                                  {"int16", "<i2"},
                                                  {"uint16", "<u2"},
                                                  {"float16", "<f2"},
                                                  {"int32", "<i4"},
                                                  {"uint32", "<u4"},
                                                  {"float32", "<f4"},
                                                  {"int64", "<i8"},
                                                  {"uint64", "<u8"},
                                                  {"float64", "<f8"},
                                                  {"complex64", "<c8"},
                                                  {"complex128", "<c16"}}};

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
  const std::string name = DataTypeName(source.type);
  const auto type = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                 [&](const TypeName& each) { return each.data_type == name; });
  if (type == kTypeNames.end()) return NoSuchType("npy", name);
  UNSHARD_ASSIGN_OR_RETURN(VolumeFileLayout layout, LayoutInOrder(source, StoredOrder(source)));
  std::string text = "{'descr': '" + std::string(type->descr) +
                     "', 'fortran_order': " + (source.fastest_first ? "True" : "False") +
                     ", 'shape': " + ShapeText(source) + ", }";
  const auto padded = [&](std::size_t before) {
    const std::size_t end = before + text.size() + 1;
    return (end + kAlignment - 1) / kAlignment * kAlignment - before;
  };
  const bool is_version1 = padded(kMagic.size() + 4) <= kLargestVersion1;
  const std::size_t length = padded(kMagic.size() + (is_version1 ? 4 : 6));
  text.resize(length - 1, ' ');
  text += '\n';
  ByteVector& header = layout.header;
  header.assign(kMagic.begin(), kMagic.end());
  header.push_back(is_version1 ? 1 : 2);
  header.push_back(0);
  const std::size_t bytes_of_length = is_version1 ? 2 : 4;
  for (std::size_t i = 0; i < bytes_of_length; ++i) {
    header.push_back(static_cast<std::uint8_t>(length >> (8 * i)));
  }
  header.insert(header.end(), text.begin(), text.end());
  return layout;
}

}  // namespace unshard
