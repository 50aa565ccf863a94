#include "store/dataset/dataset_details.h"

#include "codec/grid/chunk_key.h"
#include "codec/json/number.h"
#include "codec/pyramid/ome_axes.h"
#include "codec/pyramid/ome_multiscale.h"
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

std::vector<std::string> Spelled(const std::vector<double>& numbers) {
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(NumberJson(number).text());
  return texts;
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

void AddOmeDetails(const std::string& path, Dialect dialect, const JsonValue& attributes,
                   DetailsByPath& to) {
  const JsonValue ome = OmeOf(dialect, attributes);
  if (ome.is_null()) return;
  to[path].ome = DescribeOme(ome);
  const auto& multiscales = ItemsOf(ome, "multiscales");
  for (std::size_t i = 0; i < multiscales.size(); ++i) {
    const JsonCursor image(multiscales[i], ItemPath("multiscales", i));
    const auto axes = AxesOfOme(image, 0);
    if (!axes) continue;
    std::vector<std::string> names, units;
    for (const JsonValue& axis : axes->axes) {
      names.push_back(TextOf(axis, "name"));
      units.push_back(TextOf(axis, "unit"));
    }
    const auto& datasets = ItemsOf(multiscales[i], "datasets");
    for (const JsonValue& dataset : datasets) {
      const auto directory = ResolvePath(path, TextOf(dataset, "path"));
      if (!directory) continue;
      to[*directory].units = units;
      to[*directory].dimensions = names;
    }
    const auto model = ReadOmeMultiscale(image, {});
    if (!model) continue;
    for (const OmeMultiscale::Level& level : model->levels) {
      const auto directory = ResolvePath(path, level.path);
      if (!directory || ItemsOf(datasets[level.dataset], "coordinateTransformations").empty()) {
        continue;
      }
      DatasetDetails& details = to[*directory];
      details.resolution = Spelled(level.transform.scale);
      details.offset.clear();
      if (level.transform.states_translation) {
        details.offset = Spelled(level.transform.translation);
      }
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
