// The members of an `info` that decide how chunks are stored. An edit must not change them, and
// spools remember what they were.
#pragma once

#include <string_view>

namespace unshard {

struct LayoutMember {
  std::string_view key;
  std::string_view absent = "null";  // the JSON that its absence means
  bool is_name = false;              // of a type or an encoding, in letters of any case
};

inline constexpr bool kIsName = true;

inline constexpr LayoutMember kVolumeLayout[] = {{"data_type", "null", kIsName},
                                                 {"num_channels", "1"}};
inline constexpr LayoutMember kScaleLayout[] = {{"encoding", "null", kIsName},
                                                {"size"},
                                                {"chunk_sizes"},
                                                {"voxel_offset", "[0, 0, 0]"},
                                                {"compressed_segmentation_block_size"},
                                                {"sharding"}};
inline constexpr LayoutMember kMeshLayout[] = {{"vertex_quantization_bits"}, {"sharding"}};
inline constexpr LayoutMember kSkeletonLayout[] = {{"vertex_attributes", "[]"}, {"sharding"}};
inline constexpr LayoutMember kAnnotationLayout[] = {
    {"dimensions"}, {"annotation_type", "null", kIsName}, {"lower_bound"}, {"upper_bound"}};
inline constexpr LayoutMember kPropertyLayout[] = {{"type", "null", kIsName}};
inline constexpr LayoutMember kIndexLayout[] = {
    {"key"}, {"grid_shape"}, {"chunk_size"}, {"sharding"}};

}  // namespace unshard
