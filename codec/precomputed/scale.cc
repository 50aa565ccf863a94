#include "codec/precomputed/scale.h"

#include <algorithm>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {
namespace {

Result<std::optional<int>> ParseOptionalInteger(const JsonCursor& owner, const char* key,
                                                int most) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, owner.OptionalMember(key));
  if (found.empty()) return std::optional<int>();
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, found.front().Integer(0, most));
  return std::optional<int>(static_cast<int>(value));
}

// A list of channel, z, y and x as one of x, y and z.
template <class List, class Text>
JsonValue Xyz(const List& list, const Text& text) {
  JsonValue out = JsonValue::Array();
  for (std::size_t axis = list.size(); axis-- > 1;) {
    out.mutable_items().push_back(JsonValue::Number(text(list[axis])));
  }
  return out;
}

}  // namespace

Result<std::optional<std::array<std::uint64_t, 3>>> ParseBlockSize(const JsonCursor& scale) {
  std::optional<std::array<std::uint64_t, 3>> block;
  UNSHARD_ASSIGN_OR_RETURN(const auto found,
                           scale.OptionalMember("compressed_segmentation_block_size"));
  if (found.empty()) return block;
  UNSHARD_ASSIGN_OR_RETURN(const auto extents,
                           found.front().UnsignedItems(1, ~std::uint64_t{0} >> 1));
  if (extents.size() != 3) return found.front().Expected("three numbers");
  block = {extents[0], extents[1], extents[2]};
  return block;
}

Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels) {
  VolumeEncoding volume;
  volume.type = type;
  volume.channels = channels;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor encoding, members.Member("encoding"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, encoding.String());
  volume.encoding = LowerCase(name);
  UNSHARD_ASSIGN_OR_RETURN(volume.block_size, ParseBlockSize(members));
  UNSHARD_ASSIGN_OR_RETURN(volume.jpeg_quality, ParseOptionalInteger(members, "jpeg_quality", 100));
  UNSHARD_ASSIGN_OR_RETURN(volume.png_level, ParseOptionalInteger(members, "png_level", 9));
  auto codec = MakeVolumeCodec(volume);
  if (!codec) return Forward(std::move(codec).error(), encoding.path());
  return codec;
}

std::string ScaleKey(double x, double y, double z) {
  return SixDigits(x) + "_" + SixDigits(y) + "_" + SixDigits(z);
}

JsonValue WriteScale(const std::string& key, const ArrayMetadata& array) {
  const auto whole = [](auto value) { return std::to_string(value); };
  JsonValue scale = JsonValue::Object();
  scale.Set("key", JsonValue::String(key));
  scale.Set("size", Xyz(array.shape, whole));
  scale.Set("resolution", Xyz(array.units, [](const std::optional<DimensionUnit>& unit) {
              return ShortestDecimal(unit ? unit->multiplier : 1);
            }));
  scale.Set("voxel_offset", Xyz(array.origin, whole));
  scale.Set("chunk_sizes", JsonValue::Array({Xyz(array.chunk_shape, whole)}));
  for (const auto& [name, value] : array.codec_json.members()) scale.Set(name, value);
  return scale;
}

JsonValue WriteInfo(const std::string& data_type, std::uint64_t channels, JsonValue scales) {
  const bool labels = data_type == "uint32" || data_type == "uint64";
  JsonValue info = JsonValue::Object();
  info.Set("@type", JsonValue::String("neuroglancer_multiscale_volume"));
  info.Set("type", JsonValue::String(labels ? "segmentation" : "image"));
  info.Set("data_type", JsonValue::String(data_type));
  info.Set("num_channels", JsonValue::Number(channels));
  info.Set("scales", std::move(scales));
  return info;
}

}  // namespace unshard
