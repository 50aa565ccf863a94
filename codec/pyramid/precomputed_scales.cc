#include "codec/pyramid/precomputed_scales.h"

#include "codec/core/text.h"

namespace unshard {

Result<PyramidGeometry> GeometryOfScales(const JsonValue& info,
                                         const std::vector<PyramidLevel>& levels) {
  PyramidGeometry geometry;
  geometry.axes = {{"c", PyramidAxis::Kind::kChannel, ""},
                   {"z", PyramidAxis::Kind::kSpace, "nm"},
                   {"y", PyramidAxis::Kind::kSpace, "nm"},
                   {"x", PyramidAxis::Kind::kSpace, "nm"}};
  const auto& scales = ItemsOf(info, "scales");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string name = "scales[" + std::to_string(i) + "]";
    const auto xyz = i < scales.size() ? NumbersOf(scales[i].Find("resolution"), 3) : std::nullopt;
    if (!xyz) return Fail(ErrorCode::kDataLoss, name + ".resolution: expected three numbers");
    LevelPosition level{{1, (*xyz)[2], (*xyz)[1], (*xyz)[0]}, {}};
    for (std::size_t axis = 0; axis < 4; ++axis) {
      if (!(level.resolution[axis] > 0)) {
        return Fail(ErrorCode::kDataLoss, name + ".resolution: expected numbers above 0");
      }
      level.corner.push_back(static_cast<double>(levels[i].array.origin[axis]) *
                             level.resolution[axis]);
    }
    geometry.levels.push_back(std::move(level));
  }
  return geometry;
}

std::string ScaleKey(const LevelPosition& position) {
  std::string key;
  for (std::size_t axis = position.resolution.size(); axis-- > 1;) {
    key += (key.empty() ? "" : "_") + SixDigits(position.resolution[axis]);
  }
  return key;
}

Result<JsonValue> InfoOfLevels(const std::vector<PyramidLevel>& levels,
                               const std::vector<LevelPosition>& positions) {
  JsonValue scales = JsonValue::Array();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const ArrayMetadata& array = levels[i].array;
    const auto xyz = [&](const auto& list, const auto& to_json) {
      JsonValue out = JsonValue::Array();
      for (std::size_t axis = 4; axis-- > 1;) out.mutable_items().push_back(to_json(list[axis]));
      return out;
    };
    const auto whole = [](std::uint64_t value) { return JsonValue::Number(value); };
    JsonValue scale = JsonValue::Object();
    scale.Set("key", JsonValue::String(levels[i].path));
    scale.Set("size", xyz(array.shape, whole));
    scale.Set("resolution", xyz(positions[i].resolution, [](double value) {
                return JsonValue::Number(ShortestDecimal(value));
              }));
    scale.Set("voxel_offset", xyz(array.origin, [](std::int64_t value) {
                return JsonValue::Number(std::to_string(value));
              }));
    scale.Set("chunk_sizes", JsonValue::Array({xyz(array.chunk_shape, whole)}));
    for (const auto& [key, value] : array.codec_json.members()) scale.Set(key, value);
    scales.mutable_items().push_back(std::move(scale));
  }
  const ArrayMetadata& first = levels.front().array;
  const std::string type = DataTypeName(first.data_type);
  const bool labels = type == "uint32" || type == "uint64";
  JsonValue info = JsonValue::Object();
  info.Set("@type", JsonValue::String("neuroglancer_multiscale_volume"));
  info.Set("type", JsonValue::String(labels ? "segmentation" : "image"));
  info.Set("data_type", JsonValue::String(type));
  info.Set("num_channels", JsonValue::Number(first.shape.front()));
  info.Set("scales", std::move(scales));
  return info;
}

}  // namespace unshard
