#include "codec/precomputed/scale.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codec/codecs/volume_encoding.h"
#include "codec/core/lower_case.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr const char* kEncoding = "encoding";

// Those that a scale may have.
std::vector<CodecOption> ScaleOptions(const CodecDefinition& codec) {
  std::vector<CodecOption> options(codec.options.begin(), codec.options.end());
  std::erase_if(options, [](const CodecOption& option) { return option.only_in.has_value(); });
  return options;
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

double NumberOf(const std::optional<DimensionUnit>& unit) { return unit ? unit->multiplier : 1; }

}  // namespace

std::vector<std::string_view> EncodingMembers() {
  std::vector<std::string_view> members{kEncoding};
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    if (codec->NameIn(Dialect::kPrecomputed) == nullptr) continue;
    for (const CodecOption& option : ScaleOptions(*codec)) members.push_back(option.name);
  }
  return members;
}

Result<ChunkCodecPtr> MakePrecomputedChunkCodec(const JsonCursor& members, const DataType& type,
                                                std::uint64_t channels) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor encoding, members.Member(kEncoding));
  UNSHARD_ASSIGN_OR_RETURN(std::string name, encoding.String());
  name = LowerCase(name);
  const CodecDefinition* const definition = FindCodec(Dialect::kPrecomputed, name);
  if (definition == nullptr) {
    return Fail(ErrorCode::kNotSupported, encoding.path(), ": decoding chunks of encoding \"", name,
                "\" is not supported");
  }
  JsonValue options = JsonValue::Object({{kNumChannels, JsonValue::Number(channels)}});
  for (const CodecOption& option : ScaleOptions(*definition)) {
    if (const JsonValue* value = members.value().Find(option.name))
      options.Set(option.name, *value);
  }
  JsonValue json = ExtensionJson(name, std::move(options));
  const CodecSpec spec{std::move(name), std::move(json), members.path(), Dialect::kPrecomputed,
                       definition};
  constexpr std::size_t kRank = 4;
  return CodecChain::Bind({spec}, encoding.path(), {type, kRank});
}

std::string ScaleKey(const Array& scale) {
  std::string key;
  for (std::size_t axis = scale.units.size(); axis-- > 1;) {
    if (!key.empty()) key += '_';
    key += SixDigits(NumberOf(scale.units[axis]));
  }
  return key;
}

std::optional<std::string> SharedScaleKey(std::span<const Array> scales) {
  std::set<std::string> keys;
  for (const Array& scale : scales) {
    std::string key = ScaleKey(scale);
    if (keys.contains(key)) return key;
    keys.insert(std::move(key));
  }
  return std::nullopt;
}

void SetEncoding(const Array& array, JsonValue& scale) {
  for (const std::string_view member : EncodingMembers()) {
    const JsonValue* const value = array.codec_json.Find(member);
    value != nullptr ? scale.Set(member, *value) : void(scale.Erase(member));
  }
  scale.Erase("sharding");
  if (!array.sharding.is_null()) scale.Set("sharding", array.sharding);
}

JsonValue WriteScale(const Array& array) {
  const auto whole = [](auto value) { return std::to_string(value); };
  JsonValue scale = JsonValue::Object();
  scale.Set("key", JsonValue::String(ScaleKey(array)));
  scale.Set("size", Xyz(array.shape, whole));
  scale.Set("resolution",
            Xyz(array.units, [](const auto& unit) { return ShortestDecimal(NumberOf(unit)); }));
  scale.Set("voxel_offset", Xyz(array.origin, whole));
  scale.Set("chunk_sizes", JsonValue::Array({Xyz(array.chunk_shape, whole)}));
  SetEncoding(array, scale);
  return scale;
}

JsonValue WriteInfo(std::span<const Array> scales) {
  const Array& first = scales.front();
  const std::string data_type = DataTypeName(first.data_type);
  const bool labels = data_type == "uint32" || data_type == "uint64";
  std::vector<JsonValue> written;
  for (const Array& scale : scales) written.push_back(WriteScale(scale));
  JsonValue info = JsonValue::Object();
  info.Set("@type", JsonValue::String("neuroglancer_multiscale_volume"));
  info.Set("type", JsonValue::String(labels ? "segmentation" : "image"));
  info.Set("data_type", JsonValue::String(data_type));
  info.Set("num_channels", JsonValue::Number(first.shape.front()));
  info.Set("scales", JsonValue::Array(std::move(written)));
  return info;
}

}  // namespace unshard
