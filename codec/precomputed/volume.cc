#include "codec/precomputed/volume.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "codec/array/document.h"
#include "codec/core/lower_case.h"
#include "codec/json/parser.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {
namespace {

constexpr std::size_t kRank = 4;  // channel, z, y, x
constexpr std::uint64_t kMaxExtent = ~std::uint64_t{0} >> 1;
constexpr std::array kCodecMembers = {"encoding", "compressed_segmentation_block_size",
                                      "jpeg_quality", "png_level"};
constexpr std::array kScaleMembers = {"key",         "size",         "resolution",
                                      "chunk_sizes", "voxel_offset", "sharding"};
constexpr std::array kInfoMembers = {"@type", "type", "data_type", "num_channels", "scales"};

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

// What the type and the number of channels of all scales are.
struct VoxelForm {
  DataType type;
  std::uint64_t channels = 1;
};

class ScaleParser {
 public:
  ScaleParser(const JsonCursor& scale, const VoxelForm& form) : cursor_(scale), form_(form) {}

  Result<PrecomputedScale> Parse() {
    array_.dialect = ArrayDialect::kPrecomputed;
    array_.data_type = form_.type;
    array_.axis_names = {"channel", "z", "y", "x"};
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor key, cursor_.Member("key"));
    UNSHARD_ASSIGN_OR_RETURN(scale_.key, key.String());
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor size, cursor_.Member("size"));
    UNSHARD_ASSIGN_OR_RETURN(array_.shape, ParseExtents(size, form_.channels, 0));
    UNSHARD_RETURN_IF_ERROR(TakeOrigin());
    UNSHARD_RETURN_IF_ERROR(TakeResolution());
    UNSHARD_RETURN_IF_ERROR(TakeSharding());
    UNSHARD_RETURN_IF_ERROR(TakeChunkSizes());
    if (const auto grid = GridOf(array_); !grid) return Forward(grid.error(), cursor_.path());
    UNSHARD_RETURN_IF_ERROR(TakeCodec());
    scale_.other_members = cursor_.value();
    for (const char* member : kScaleMembers) scale_.other_members.Erase(member);
    for (const char* member : kCodecMembers) scale_.other_members.Erase(member);
    scale_.array = std::move(array_);
    return std::move(scale_);
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
      UNSHARD_ASSIGN_OR_RETURN(const double nanometres, ParseNumber(item));
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
      return sizes.Expected("exactly one chunk size, as the scale is sharded");
    }
    for (const JsonCursor& item : items) {
      UNSHARD_ASSIGN_OR_RETURN(auto shape, ParseExtents(item, form_.channels, 1));
      scale_.other_chunk_shapes.push_back(std::move(shape));
    }
    array_.chunk_shape = std::move(scale_.other_chunk_shapes.front());
    scale_.other_chunk_shapes.erase(scale_.other_chunk_shapes.begin());
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
  PrecomputedScale scale_;
  ArrayMetadata array_;
};

Result<VoxelForm> ParseForm(const JsonCursor& document) {
  VoxelForm form;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type_cursor, document.Member("data_type"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, type_cursor.String());
  const auto type = FindDataType(DataTypeDialect::kPrecomputedVolume, LowerCase(name));
  if (!type) {
    return Fail(ErrorCode::kNotSupported,
                type_cursor.path() + ": the data type \"" + name + "\" is not known here");
  }
  form.type = *type;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor channels, document.Member("num_channels"));
  UNSHARD_ASSIGN_OR_RETURN(form.channels, channels.Unsigned(1, kMostChannels));
  return form;
}

// Whether the volume's info can say what `array` is; `path` names its scale.
Status CheckScale(const ArrayMetadata& array, const ArrayMetadata& first, const std::string& path) {
  const auto refuse = [&](const std::string& expected) {
    return Fail(ErrorCode::kInvalidArgument, path + ": expected " + expected);
  };
  if (array.rank() != kRank || array.chunk_shape.size() != kRank || array.origin.size() != kRank) {
    return refuse("the four axes channel, z, y and x");
  }
  if (!(array.data_type == first.data_type) || array.shape[0] != first.shape[0]) {
    return refuse("the data type and the channels of the first scale");
  }
  if (array.origin[0] != 0 || array.chunk_shape[0] != array.shape[0]) {
    return refuse("chunks with all channels");
  }
  const ByteVector fill_value = FillValueOf(array);
  if (std::any_of(fill_value.begin(), fill_value.end(),
                  [](std::uint8_t byte) { return byte != 0; })) {
    return refuse("a fill value of 0, which missing chunks of precomputed volumes have");
  }
  return {};
}

JsonValue SpatialExtents(const std::vector<std::uint64_t>& extents) {
  return ExtentsJson({extents[3], extents[2], extents[1]});
}

Result<JsonValue> ResolutionOf(const ArrayMetadata& array, const std::string& path) {
  std::vector<JsonValue> resolution;
  for (std::size_t axis = kRank; axis-- > 1;) {
    double nanometres = 1;
    if (!array.units.empty() && array.units[axis]) {
      const auto length = Nanometres(*array.units[axis]);
      if (!length) {
        return Fail(ErrorCode::kInvalidArgument, path + ": expected a unit of length, found \"" +
                                                     DimensionUnitText(*array.units[axis]) + "\"");
      }
      nanometres = *length;
    }
    resolution.push_back(NumberJson(nanometres));
  }
  return JsonValue::Array(std::move(resolution));
}

Result<JsonValue> WriteScale(const PrecomputedScale& scale, const std::string& path) {
  const ArrayMetadata& array = scale.array;
  JsonValue document = JsonValue::Object();
  document.Set("key", JsonValue::String(scale.key));
  document.Set("size", SpatialExtents(array.shape));
  std::vector<JsonValue> offset;
  for (std::size_t axis = kRank; axis-- > 1;) {
    offset.push_back(JsonValue::Number(std::to_string(array.origin[axis])));
  }
  document.Set("voxel_offset", JsonValue::Array(std::move(offset)));
  std::vector<JsonValue> sizes{SpatialExtents(array.chunk_shape)};
  for (const auto& shape : scale.other_chunk_shapes) sizes.push_back(SpatialExtents(shape));
  document.Set("chunk_sizes", JsonValue::Array(std::move(sizes)));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue resolution, ResolutionOf(array, path));
  document.Set("resolution", std::move(resolution));
  for (const auto& [key, value] : array.codec_json.members()) document.Set(key, value);
  if (!array.sharding.is_null()) document.Set("sharding", array.sharding);
  for (const auto& [key, value] : scale.other_members.members()) {
    if (document.Find(key) == nullptr) document.Set(key, value);
  }
  return document;
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

Result<PrecomputedVolume> ParsePrecomputedVolume(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, ParseJson(text));
  return ParsePrecomputedVolume(JsonCursor(document, ""));
}

Result<PrecomputedVolume> ParsePrecomputedVolume(const JsonCursor& document) {
  UNSHARD_ASSIGN_OR_RETURN(const auto kind, document.OptionalMember("@type"));
  if (!kind.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, kind.front().String());
    if (name != "neuroglancer_multiscale_volume") {
      return kind.front().Expected("\"neuroglancer_multiscale_volume\"");
    }
  }
  PrecomputedVolume volume;
  UNSHARD_ASSIGN_OR_RETURN(const VoxelForm form, ParseForm(document));
  UNSHARD_ASSIGN_OR_RETURN(const auto type, document.OptionalMember("type"));
  if (!type.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(volume.type, type.front().String());
  }
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor scales, document.Member("scales"));
  UNSHARD_ASSIGN_OR_RETURN(const auto items, scales.Items());
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(PrecomputedScale scale, ScaleParser(item, form).Parse());
    volume.scales.push_back(std::move(scale));
  }
  volume.other_members = document.value();
  for (const char* member : kInfoMembers) volume.other_members.Erase(member);
  return volume;
}

Result<JsonValue> WritePrecomputedVolume(const PrecomputedVolume& volume) {
  if (volume.scales.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "scales: expected at least one scale");
  }
  const ArrayMetadata& first = volume.scales.front().array;
  const std::string type = DataTypeName(first.data_type);
  if (!FindDataType(DataTypeDialect::kPrecomputedVolume, type)) {
    return Fail(ErrorCode::kNotSupported, "precomputed volumes have no data type " + type);
  }
  std::vector<JsonValue> scales;
  for (std::size_t i = 0; i < volume.scales.size(); ++i) {
    const std::string path = "scales[" + std::to_string(i) + "]";
    UNSHARD_RETURN_IF_ERROR(CheckScale(volume.scales[i].array, first, path));
    UNSHARD_ASSIGN_OR_RETURN(JsonValue scale, WriteScale(volume.scales[i], path));
    scales.push_back(std::move(scale));
  }
  JsonValue document = JsonValue::Object();
  document.Set("@type", JsonValue::String("neuroglancer_multiscale_volume"));
  if (!volume.type.empty()) document.Set("type", JsonValue::String(volume.type));
  document.Set("data_type", JsonValue::String(type));
  document.Set("num_channels", JsonValue::Number(first.shape[0]));
  document.Set("scales", JsonValue::Array(std::move(scales)));
  for (const auto& [key, value] : volume.other_members.members()) {
    if (document.Find(key) == nullptr) document.Set(key, value);
  }
  return document;
}

}  // namespace unshard
