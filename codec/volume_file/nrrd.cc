#include "codec/core/text.h"
#include "codec/volume_file/body.h"
#include "codec/volume_file/formats.h"

namespace unshard {
namespace {

// The voxels begin at a multiple of it.
constexpr std::size_t kHeaderAlignment = 16;
// In a millimetre: ITK, and what is made of it, ignores `space units` and counts in millimetres.
constexpr double kNanometres = 1e6;

std::string VectorText(const std::array<double, 3>& vector) {
  return "(" + ShortestDecimal(vector[0]) + "," + ShortestDecimal(vector[1]) + "," +
         ShortestDecimal(vector[2]) + ")";
}

std::string HeaderText(const VolumeFileSource& source, std::string_view type) {
  const SpatialAxes& space = *source.space;
  std::string sizes, directions, kinds;
  for (std::size_t i = 0; i < 3; ++i) {
    const SpatialAxes::Axis& axis = space.xyz[i];
    sizes += " " + std::to_string(axis.axis ? source.shape[*axis.axis] : 1);
    std::array<double, 3> direction{};
    direction[i] = axis.resolution / kNanometres;
    directions += " " + VectorText(direction);
    kinds += " domain";
  }
  if (space.channel) {
    sizes += " " + std::to_string(source.shape[*space.channel]);
    directions += " none";
    kinds += " vector";
  }
  std::array<double, 3> origin{};
  for (std::size_t i = 0; i < 3; ++i) {
    origin[i] = space.xyz[i].offset * space.xyz[i].resolution / kNanometres;
  }
  return "NRRD0005\ntype: " + std::string(type) + "\ndimension: " + (space.channel ? "4" : "3") +
         "\nspace dimension: 3\nsizes:" + sizes + "\nspace directions:" + directions +
         "\nkinds:" + kinds +
         "\nendian: little\nencoding: raw\nspace origin: " + VectorText(origin) +
         "\nspace units: \"mm\" \"mm\" \"mm\"\n";
}

}  // namespace

Result<VolumeFileLayout> DescribeNrrd(const VolumeFileSource& source) {
  const DataTypeNames* const type = FindDataTypeNames(source.type);
  if (type == nullptr || type->nrrd.empty()) return NoSuchType("nrrd", source.type);
  UNSHARD_ASSIGN_OR_RETURN(std::vector<std::size_t> order, ImageOrder("nrrd", source));
  UNSHARD_ASSIGN_OR_RETURN(VolumeFileLayout layout, LayoutInOrder(source, std::move(order)));
  std::string text = HeaderText(source, type->nrrd);
  // A comment fills up what alignment asks for: '#', characters, the end of the line, and the empty
  // line that ends the header.
  const std::size_t least = text.size() + 3;
  text += "#" +
          std::string((least + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment - least,
                      ' ') +
          "\n\n";
  layout.header.assign(text.begin(), text.end());
  return layout;
}

}  // namespace unshard
