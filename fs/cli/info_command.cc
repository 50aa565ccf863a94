#include "fs/cli/info_command.h"

#include <algorithm>
#include <map>

#include "codec/core/escaped_text.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "fs/cli/mount_command.h"
#include "fs/common/readable.h"
#include "fs/mount/mount.h"
#include "store/dataset/dataset_details.h"
#include "store/dataset/shard_count.h"
#include "store/volume/volume.h"
#include "store/volume_file/source_arrays.h"

namespace unshard {
namespace {

constexpr std::size_t kAllDirectories = ~std::size_t{0};

template <class Items, class Make>
JsonValue ListOf(const Items& items, const Make& make) {
  std::vector<JsonValue> values;
  for (const auto& item : items) values.push_back(make(item));
  return JsonValue::Array(std::move(values));
}

JsonValue Numbers(const std::vector<std::uint64_t>& numbers) {
  return ListOf(numbers, [](std::uint64_t number) { return JsonValue::Number(number); });
}

// Numbers as their document spells them.
JsonValue Tokens(const std::vector<std::string>& numbers) {
  return ListOf(numbers, [](const std::string& number) { return JsonValue::Number(number); });
}

JsonValue Words(const std::vector<std::string>& words) {
  return ListOf(words, [](const std::string& word) { return JsonValue::String(word); });
}

bool SaysSomething(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const auto& word) { return !word.empty(); });
}

void SetDetails(const FoundDataset& found, const DatasetDetails& details, JsonValue& object) {
  if (!found.shape.empty()) {
    if (details.channels > 0) object.Set("channels", JsonValue::Number(details.channels));
    if (SaysSomething(details.dimensions)) object.Set("dimensions", Words(details.dimensions));
    if (!details.resolution.empty()) object.Set("resolution", Tokens(details.resolution));
    if (SaysSomething(details.units)) object.Set("units", Words(details.units));
    if (!details.offset.empty()) object.Set("offset", Tokens(details.offset));
    if (!details.voxel_offset.empty()) object.Set("voxel_offset", Tokens(details.voxel_offset));
  }
  if (found.tree && details.sharding.is_object()) object.Set("sharding", details.sharding);
}

// Of more arrays `info` does not say which formats of files they lack: each is looked for in the
// documents above it.
constexpr std::size_t kMostWithFormats = 1024;

// What cannot be done with the voxels of an array.
struct Refused {
  std::optional<Error> reading;  // why voxels cannot be read
  // The formats in which the array cannot be presented as one file (-o files=), with the reason.
  std::map<std::string, std::string> formats;
};

Refused RefusedOf(SourceArrays& arrays, const FoundDataset& found) {
  Refused refused;
  if (found.shape.empty() || found.fault) return refused;
  const auto array = arrays.Find(found.path);
  if (!array) refused.reading = array.error();
  for (const VolumeFileFormat& format : VolumeFileFormats()) {
    if (!array) {
      refused.formats.emplace(format.name, array.error().message);
    } else if (*array) {
      const auto layout = format.describe((*array)->described);
      if (!layout) refused.formats.emplace(format.name, layout.error().message);
    }
  }
  return refused;
}

JsonValue OmeObject(const OmeDescription& ome) {
  JsonValue object = JsonValue::Object();
  if (!ome.version.empty()) object.Set("version", JsonValue::String(EscapeBytes(ome.version)));
  object.Set("kinds", Words(ome.kinds));
  if (!ome.system.empty()) {
    object.Set("coordinate_system", JsonValue::String(EscapeBytes(ome.system)));
  }
  if (!ome.axes.empty()) object.Set("axes", Words(ome.axes));
  if (!ome.ignored.empty()) object.Set("ignored", Words(ome.ignored));
  if (!ome.invalid.empty()) object.Set("invalid", JsonValue::String(EscapeBytes(ome.invalid)));
  if (!ome.fault.empty()) object.Set("fault", JsonValue::String(EscapeBytes(ome.fault)));
  return object;
}

JsonValue DatasetObject(const FoundDataset& found, const DatasetDetails& details,
                        const ShardCount& count, const Refused& refused) {
  JsonValue object = JsonValue::Object();
  object.Set("path", JsonValue::String(EscapeBytes(found.path)));
  object.Set("format", JsonValue::String(found.format));
  object.Set("sharded", JsonValue::Boolean(found.tree != nullptr));
  if (!found.description.empty()) {
    object.Set("description", JsonValue::String(EscapeBytes(found.description)));
  }
  if (!found.data_type.empty()) object.Set("data_type", JsonValue::String(found.data_type));
  if (!found.encoding.empty()) object.Set("encoding", JsonValue::String(found.encoding));
  if (!found.shape.empty()) object.Set("shape", Numbers(found.shape));
  if (!found.chunk_shape.empty()) object.Set("chunk_shape", Numbers(found.chunk_shape));
  if (!found.shard_shape.empty()) object.Set("shard_shape", Numbers(found.shard_shape));
  SetDetails(found, details, object);
  if (details.ome) object.Set("ome", OmeObject(*details.ome));
  if (found.tree && count.complete) {
    object.Set("shards", JsonValue::Number(count.shards));
    if (count.chunks_complete) object.Set("chunks", JsonValue::Number(count.chunks));
    if (count.fitting_known) object.Set("chunks_that_fit", JsonValue::Number(count.fitting));
  }
  if (count.unreadable_shards > 0) {
    object.Set("unreadable_shards", JsonValue::Number(count.unreadable_shards));
    object.Set("unreadable", ListOf(count.unreadable, [](const ShardCount::Unreadable& shard) {
                 JsonValue one = JsonValue::Object();
                 one.Set("path", JsonValue::String(EscapeBytes(shard.path)));
                 one.Set("why", JsonValue::String(EscapeBytes(shard.why)));
                 return one;
               }));
  }
  if (!refused.formats.empty()) {
    JsonValue reasons = JsonValue::Object();
    for (const auto& [format, why] : refused.formats) {
      reasons.Set(format, JsonValue::String(EscapeBytes(why)));
    }
    object.Set("no_files", std::move(reasons));
  }
  if (found.fault) object.Set("fault", JsonValue::String(EscapeBytes(found.fault->message)));
  return object;
}

// "8 x 8 x 40 nm", or with units of their own "0.5 s x 4 um".
std::string ResolutionText(const std::vector<std::string>& resolution,
                           const std::vector<std::string>& units) {
  const bool each = units.size() == resolution.size();
  const bool one_unit =
      each && std::all_of(units.begin(), units.end(), [&](const auto& u) { return u == units[0]; });
  if (one_unit) return Joined(resolution, " x ") + (units[0].empty() ? "" : " " + units[0]);
  std::vector<std::string> extents = resolution;
  for (std::size_t i = 0; each && i < units.size(); ++i) {
    if (!units[i].empty()) extents[i] += " " + units[i];
  }
  return Joined(extents, " x ");
}

// "3 channels, resolution 8 x 8 x 40 nm, offset [0, 0, 0]"
std::string DetailsText(const DatasetDetails& details) {
  std::vector<std::string> parts;
  if (details.channels > 0) parts.push_back(Counted(details.channels, "channel"));
  if (SaysSomething(details.dimensions)) {
    parts.push_back("dimensions " + Joined(details.dimensions, " "));
  }
  if (!details.resolution.empty()) {
    parts.push_back("resolution " + ResolutionText(details.resolution, details.units));
  }
  if (!details.offset.empty()) parts.push_back("offset [" + Joined(details.offset, ", ") + "]");
  if (!details.voxel_offset.empty()) {
    parts.push_back("offset [" + Joined(details.voxel_offset, ", ") + "] voxels");
  }
  return Joined(parts, ", ");
}

// One line for what it is, and one for each thing that views leave out or cannot place.
std::string OmeText(const OmeDescription& ome) {
  std::string text = "\n    " + Printable(TextOf(ome));
  for (const std::string& ignored : ome.ignored) {
    text += "\n    not used by views: " + Printable(ignored);
  }
  if (!ome.invalid.empty()) text += "\n    not valid: " + Printable(ome.invalid);
  if (!ome.fault.empty()) text += "\n    views cannot place the levels: " + Printable(ome.fault);
  return text;
}

// Empty where the format has none, or its document does not say it.
std::string ShardingText(const JsonValue& sharding) {
  if (!sharding.is_object()) return "";
  const JsonValue* location = sharding.Find("index_location");
  if (location == nullptr) return DescribeSharding(sharding);
  const JsonValue* codecs = sharding.Find("index_codecs");
  return "index at the " + location->text() + (codecs != nullptr ? ", " + codecs->text() : "");
}

std::string CountText(const ShardCount& count) {
  if (!count.complete && count.shards == 0) return "shards not counted: they cannot be listed";
  if (!count.complete) return "more than " + Counted(kMostCountedShards, "shard");
  std::string text = Counted(count.shards, "shard");
  if (!count.chunks_complete) return text;
  text += ", " + Counted(count.chunks, "chunk");
  if (!count.fitting_known || count.fitting == 0) return text;
  return text + " of " + std::to_string(count.fitting) + " that fit (" +
         std::to_string(count.chunks * 100 / count.fitting) + " %)";
}

// One line for each shard with an index that cannot be read, up to a bound.
std::string UnreadableText(const ShardCount& count) {
  std::string text;
  for (const ShardCount::Unreadable& shard : count.unreadable) {
    text += "\n    damaged: " + Printable(shard.why);
  }
  const std::uint64_t more = count.unreadable_shards - count.unreadable.size();
  if (more > 0) text += "\n    damaged: " + Counted(more, "more shard");
  return text;
}

std::string RefusedText(const Refused& refused) {
  std::string text;
  if (refused.reading) {
    text = "\n    voxels cannot be read: " + Printable(refused.reading->message);
    const bool as_stored = refused.reading->code == ErrorCode::kNotSupported;
    return as_stored ? text + "; chunks are presented as stored" : text;
  }
  for (const auto& [format, why] : refused.formats) {
    text += "\n    no file " + format + ": " + Printable(why);
  }
  return text;
}

std::string DatasetLine(const FoundDataset& found, const DatasetDetails& details,
                        const ShardCount& count, const Refused& refused) {
  std::string line = "/" + Printable(found.path) + "\n    " + found.format;
  if (!found.description.empty()) line += ": " + Printable(found.description);
  if (found.fault) line += "\n    broken: " + Printable(found.fault->message);
  if (details.ome) line += OmeText(*details.ome);
  const std::string more = found.shape.empty() ? "" : DetailsText(details);
  if (!more.empty()) line += "\n    " + more;
  if (found.tree) {
    const std::string sharding = ShardingText(details.sharding);
    if (!sharding.empty()) line += "\n    sharding: " + sharding;
    line += "\n    " + CountText(count) + UnreadableText(count);
  }
  return line + RefusedText(refused) + "\n";
}

std::optional<JsonValue> ReadDocument(ObjectStore& store, const std::string& directory,
                                      const char* name) {
  const auto object =
      ReadWhole(store, JoinPath(directory, name), kMaxDocumentBytes, CallerDeadline());
  if (!object || !*object) return std::nullopt;
  auto document = ParseJson((*object)->text);
  if (!document) return std::nullopt;
  return *std::move(document);
}

// Groups first: what they say of their arrays takes precedence over what these say themselves.
DetailsByPath ReadDetails(ObjectStore& store, const std::vector<FoundDataset>& found) {
  DetailsByPath details;
  for (const FoundDataset& one : found) {
    if (one.format == "zarr v3 group") {
      const auto document = ReadDocument(store, one.path, "zarr.json");
      const JsonValue* attributes = document ? document->Find("attributes") : nullptr;
      if (attributes != nullptr) AddOmeDetails(one.path, Dialect::kZarr3, *attributes, details);
    } else if (one.format == "zarr v2 group") {
      const auto attributes = ReadDocument(store, one.path, ".zattrs");
      if (attributes) AddOmeDetails(one.path, Dialect::kZarr2, *attributes, details);
    }
  }
  for (const FoundDataset& one : found) {
    const bool array = one.format.starts_with("zarr v3 array");
    const bool info = one.format.starts_with("precomputed") && one.shape.empty();
    if (!array && !info) continue;
    const auto document = ReadDocument(store, one.path, array ? "zarr.json" : "info");
    if (!document) continue;
    array ? AddZarrDetails(one.path, *document, details)
          : AddPrecomputedDetails(one.path, *document, details);
  }
  return details;
}

}  // namespace

Result<SourceDescription> DescribeSource(const std::string& source, bool json) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  options.immutable = true;
  options.read_only = true;
  options.searched_ahead = kAllDirectories;
  UNSHARD_ASSIGN_OR_RETURN(const auto volume, Volume::Open(options, nullptr));
  WarnOfUnpublished(options, "counted here");
  const VolumeParts& parts = volume->parts();
  SourceDescription description;
  std::vector<JsonValue> datasets;
  const std::vector<FoundDataset> all = parts.datasets->found();
  DetailsByPath details = ReadDetails(*parts.store, all);
  SourceArrays arrays(parts, options);
  for (const FoundDataset& found : all) {
    Refused refused;
    if (all.size() <= kMostWithFormats) refused = RefusedOf(arrays, found);
    const DatasetDetails& more = details[found.path];
    // The cost of counting how many chunks fit into one shard. 2^62 is never counted.
    const std::uint64_t costs = std::uint64_t{1} << std::min(more.ids_in_shard_bits, 62u);
    const ShardCount count =
        found.tree ? CountShards(*parts.store, *found.tree, costs) : ShardCount();
    datasets.push_back(DatasetObject(found, more, count, refused));
    description.text += DatasetLine(found, more, count, refused);
    description.damaged |= found.fault.has_value() || count.unreadable_shards > 0;
  }
  if (!json) return description;
  JsonValue object = JsonValue::Object();
  object.Set("source", JsonValue::String(EscapeBytes(options.source)));
  object.Set("datasets", JsonValue::Array(std::move(datasets)));
  description.text = WriteJson(object) + "\n";
  return description;
}

}  // namespace unshard
