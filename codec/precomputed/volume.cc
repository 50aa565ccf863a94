#include "codec/precomputed/volume.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "codec/array/document.h"
#include "codec/core/lower_case.h"
#include "codec/json/number.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {
namespace {

constexpr std::size_t kRank = 4;  // channel, z, y, x
constexpr std::uint64_t kMaxExtent = ~std::uint64_t{0} >> 1;
constexpr std::array kCodecMembers = {"encoding", "compressed_segmentation_block_size",
                                      "jpeg_quality", "png_level"};

// The list [x, y, z] as z, y, x.
Result<std::vector<JsonCursor>> ReversedItems(const JsonCursor& list) {
  UNSHARD_ASSIGN_OR_RETURN(auto items, list.Items());
  if (items.size() != 3) return list.Expected("three numbers");
  std::reverse(items.begin(), items.end());
  return items;
}

Result<std::vector<std::uint64_t>> ParseExtents(const JsonCursor& list, std::uint64_t channels,
                                                std::uint64_t min) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, ReversedItems(list));
  std::vector<std::uint64_t> extents{channels};
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t extent, item.Unsigned(min, kMaxExtent));
    extents.push_back(extent);
  }
  return extents;
}

Result<std::optional<int>> ParseOptionalInteger(const JsonCursor& owner, const char* key,
                                                int most) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, owner.OptionalMember(key));
  if (found.empty()) return std::optional<int>();
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, found.front().Integer(0, most));
  return std::optional<int>(static_cast<int>(value));
}

// What all scales have in common.
struct VoxelForm {
  DataType type;
  std::uint64_t channels = 1;
};

class ScaleParser {
 public:
  ScaleParser(const JsonCursor& scale, const VoxelForm& form) : cursor_(scale), form_(form) {}

  Result<ArrayMetadata> Parse() {
    array_.dialect = ArrayDialect::kPrecomputed;
    array_.data_type = form_.type;
    array_.axis_names = {"channel", "z", "y", "x"};
    UNSHARD_RETURN_IF_ERROR(cursor_.StringMember("key"));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor size, cursor_.Member("size"));
    UNSHARD_ASSIGN_OR_RETURN(array_.shape, ParseExtents(size, form_.channels, 0));
    UNSHARD_RETURN_IF_ERROR(TakeOrigin());
    UNSHARD_RETURN_IF_ERROR(TakeResolution());
    UNSHARD_RETURN_IF_ERROR(TakeSharding());
    UNSHARD_RETURN_IF_ERROR(TakeChunkSizes());
    if (const auto grid = GridOf(array_); !grid) return Forward(grid.error(), cursor_.path());
    UNSHARD_RETURN_IF_ERROR(TakeCodec());
    return std::move(array_);
  }

 private:
  Status TakeOrigin() {
    array_.origin.assign(kRank, 0);
    UNSHARD_ASSIGN_OR_RETURN(const auto found, cursor_.OptionalMember("voxel_offset"));
    if (found.empty()) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto items, ReversedItems(found.front()));
    for (std::size_t i = 0; i < items.size(); ++i) {
      using Limits = std::numeric_limits<std::int64_t>;
      UNSHARD_ASSIGN_OR_RETURN(array_.origin[i + 1],
                               items[i].Integer(Limits::min(), Limits::max()));
    }
    return {};
  }

  Status TakeResolution() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor resolution, cursor_.Member("resolution"));
    UNSHARD_ASSIGN_OR_RETURN(const auto items, ReversedItems(resolution));
    array_.units.assign(1, std::nullopt);  // of the channel
    for (const JsonCursor& item : items) {
      UNSHARD_ASSIGN_OR_RETURN(const double nanometres, FiniteNumberAt(item));
      array_.units.emplace_back(DimensionUnit{nanometres, "nm"});
    }
    return {};
  }

  Status TakeSharding() {
    UNSHARD_ASSIGN_OR_RETURN(const auto sharding, cursor_.OptionalMember("sharding"));
    if (!sharding.empty()) array_.sharding = sharding.front().value();
    return {};
  }

  Status TakeChunkSizes() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor sizes, cursor_.Member("chunk_sizes"));
    UNSHARD_ASSIGN_OR_RETURN(const auto items, sizes.Items());
    if (items.empty()) return sizes.Expected("at least one chunk size");
    if (items.size() > 1 && !array_.sharding.is_null()) {
      return sizes.Expected("exactly one chunk size, because the scale is sharded");
    }
    for (const JsonCursor& item : items) {
      UNSHARD_ASSIGN_OR_RETURN(auto shape, ParseExtents(item, form_.channels, 1));
      if (array_.chunk_shape.empty()) array_.chunk_shape = std::move(shape);
    }
    return {};
  }

  Status TakeCodec() {
    array_.codec_json = JsonValue::Object();
    for (const char* member : kCodecMembers) {
      const JsonValue* const value = cursor_.value().Find(member);
      if (value != nullptr) array_.codec_json.Set(member, *value);
    }
    UNSHARD_ASSIGN_OR_RETURN(array_.codec,
                             MakePrecomputedChunkCodec(cursor_, form_.type, form_.channels));
    return {};
  }

  const JsonCursor cursor_;
  const VoxelForm form_;
  ArrayMetadata array_;
};

Result<VoxelForm> ParseForm(const JsonCursor& document) {
  VoxelForm form;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type_cursor, document.Member("data_type"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, type_cursor.String());
  const auto type = FindDataType(DataTypeDialect::kPrecomputedVolume, LowerCase(name));
  if (!type) {
    return Fail(ErrorCode::kNotSupported,
                type_cursor.path() + ": unsupported data type \"" + name + "\"");
  }
  form.type = *type;
  UNSHARD_ASSIGN_OR_RETURN(form.channels,
                           document.UnsignedMember("num_channels", 1, kMostChannels));
  return form;
}

}  // namespace

Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels) {
  VolumeEncoding volume;
  volume.type = type;
  volume.channels = channels;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor encoding, members.Member("encoding"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, encoding.String());
  volume.encoding = LowerCase(name);
  UNSHARD_ASSIGN_OR_RETURN(const auto block,
                           members.OptionalMember("compressed_segmentation_block_size"));
  if (!block.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto extents, block.front().UnsignedItems(1, kMaxExtent));
    if (extents.size() != 3) return block.front().Expected("three numbers");
    volume.block_size = {extents[0], extents[1], extents[2]};
  }
  UNSHARD_ASSIGN_OR_RETURN(volume.jpeg_quality, ParseOptionalInteger(members, "jpeg_quality", 100));
  UNSHARD_ASSIGN_OR_RETURN(volume.png_level, ParseOptionalInteger(members, "png_level", 9));
  auto codec = MakeVolumeCodec(volume);
  if (!codec) return Forward(std::move(codec).error(), encoding.path());
  return codec;
}

Result<std::vector<ArrayMetadata>> ParsePrecomputedScales(const JsonCursor& info) {
  UNSHARD_ASSIGN_OR_RETURN(const auto kind, info.OptionalMember("@type"));
  if (!kind.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, kind.front().String());
    if (name != "neuroglancer_multiscale_volume") {
      return kind.front().Expected("\"neuroglancer_multiscale_volume\"");
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const VoxelForm form, ParseForm(info));
  UNSHARD_ASSIGN_OR_RETURN(const auto type, info.OptionalMember("type"));
  if (!type.empty()) UNSHARD_RETURN_IF_ERROR(type.front().String());
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor scales, info.Member("scales"));
  UNSHARD_ASSIGN_OR_RETURN(const auto items, scales.Items());
  std::vector<ArrayMetadata> arrays;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(ArrayMetadata array, ScaleParser(item, form).Parse());
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace unshard
