#include "store/dataset/dataset_details.h"

#include "codec/grid/chunk_key.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr unsigned kMostBits = 64;

std::vector<std::string> NumbersOf(const JsonValue& object, std::string_view key) {
  std::vector<std::string> numbers;
  for (const JsonValue& item : ItemsOf(object, key)) {
    if (!item.is_number()) return {};
    numbers.push_back(item.text());
  }
  return numbers;
}

unsigned BitsOf(const JsonValue& sharding, std::string_view key) {
  const JsonValue* member = sharding.Find(key);
  if (member == nullptr || !member->is_number()) return 0;
  const std::uint64_t bits = ParseDecimal(member->text()).value_or(0);
  return bits > kMostBits ? kMostBits : static_cast<unsigned>(bits);
}

void AddSharding(const JsonValue& owner, DatasetDetails& to) {
  const JsonValue* sharding = owner.Find("sharding");
  if (sharding == nullptr || !sharding->is_object()) return;
  to.sharding = *sharding;
  to.ids_in_shard_bits = BitsOf(*sharding, "preshift_bits") + BitsOf(*sharding, "minishard_bits");
}

void AddScale(const std::string& path, const JsonValue& scale, std::uint64_t channels,
              DetailsByPath& to) {
  const auto directory = ResolvePath(path, TextOf(scale, "key"));
  if (!directory) return;
  DatasetDetails& details = to[*directory];
  details.channels = channels;
  details.resolution = NumbersOf(scale, "resolution");
  details.units.assign(details.resolution.size(), "nm");
  details.voxel_offset = NumbersOf(scale, "voxel_offset");
  details.dimensions = {"x", "y", "z"};
  AddSharding(scale, details);
}

void AddIndex(const std::string& path, const JsonValue& index, DetailsByPath& to) {
  const auto directory = ResolvePath(path, TextOf(index, "key"));
  if (directory) AddSharding(index, to[*directory]);
}

// The parameters of the first sharding_indexed among `codecs`.
JsonValue ZarrSharding(const std::vector<JsonValue>& codecs) {
  for (const JsonValue& codec : codecs) {
    if (TextOf(codec, "name") != "sharding_indexed") continue;
    JsonValue sharding = JsonValue::Object();
    const JsonValue* configuration = codec.Find("configuration");
    if (configuration == nullptr) return sharding;
    const std::string location = TextOf(*configuration, "index_location");
    sharding.Set("index_location", JsonValue::String(location.empty() ? "end" : location));
    std::string names;
    for (const JsonValue& index_codec : ItemsOf(*configuration, "index_codecs")) {
      const std::string name =
          index_codec.is_string() ? index_codec.text() : TextOf(index_codec, "name");
      names += (names.empty() ? "" : ", ") + name;
    }
    sharding.Set("index_codecs", JsonValue::String(names));
    return sharding;
  }
  return {};
}

// The transformation of a scale or translation that is named last holds.
std::vector<std::string> Transformation(const JsonValue& dataset, const std::string& type) {
  std::vector<std::string> numbers;
  for (const JsonValue& one : ItemsOf(dataset, "coordinateTransformations")) {
    if (TextOf(one, "type") == type) numbers = NumbersOf(one, type);
  }
  return numbers;
}

}  // namespace

void AddPrecomputedDetails(const std::string& path, const JsonValue& document, DetailsByPath& to) {
  const JsonValue* number = document.Find("num_channels");
  const std::uint64_t channels =
      number != nullptr && number->is_number() ? ParseDecimal(number->text()).value_or(0) : 0;
  for (const JsonValue& scale : ItemsOf(document, "scales")) AddScale(path, scale, channels, to);
  AddSharding(document, to[path]);
  if (const JsonValue* by_id = document.Find("by_id")) AddIndex(path, *by_id, to);
  for (const char* list : {"relationships", "spatial"}) {
    for (const JsonValue& index : ItemsOf(document, list)) AddIndex(path, index, to);
  }
}

void AddZarrDetails(const std::string& path, const JsonValue& document, DetailsByPath& to) {
  DatasetDetails& details = to[path];
  details.sharding = ZarrSharding(ItemsOf(document, "codecs"));
  if (!details.dimensions.empty()) return;  // the group has said them, and their units
  for (const JsonValue& name : ItemsOf(document, "dimension_names")) {
    details.dimensions.push_back(name.is_string() ? name.text() : "");
  }
}

void AddMultiscaleDetails(const std::string& path, const JsonValue& attributes, DetailsByPath& to) {
  const JsonValue* ome = attributes.Find("ome");
  const JsonValue& owner = ome != nullptr ? *ome : attributes;
  for (const JsonValue& image : ItemsOf(owner, "multiscales")) {
    std::vector<std::string> names, units;
    for (const JsonValue& axis : ItemsOf(image, "axes")) {
      names.push_back(axis.is_string() ? axis.text() : TextOf(axis, "name"));
      units.push_back(TextOf(axis, "unit"));
    }
    for (const JsonValue& dataset : ItemsOf(image, "datasets")) {
      const auto directory = ResolvePath(path, TextOf(dataset, "path"));
      if (!directory) continue;
      DatasetDetails& details = to[*directory];
      details.resolution = Transformation(dataset, "scale");
      details.offset = Transformation(dataset, "translation");
      details.units = units;
      details.dimensions = names;
    }
  }
}

std::string DescribeSharding(const JsonValue& sharding) {
  std::string text = TextOf(sharding, "hash");
  for (const char* part : {"preshift", "minishard", "shard"}) {
    text += ", " + std::string(part) + " " +
            std::to_string(BitsOf(sharding, std::string(part) + "_bits")) + " bits";
  }
  const auto encoding = [&](const char* key) {
    const std::string named = TextOf(sharding, key);
    return named.empty() ? "raw" : named;
  };
  return text + ", minishard index " + encoding("minishard_index_encoding") + ", data " +
         encoding("data_encoding");
}

}  // namespace unshard
