#include "fs/info_command.h"

#include "codec/json.h"
#include "fs/mount.h"

namespace unshard {
namespace {

// Counting stops here: `info` answers at once also for sources with very many shards.
constexpr std::uint64_t kCountedShards = 4096;

struct ShardCount {
  std::uint64_t shards = 0;
  std::uint64_t chunks = 0;
  bool complete = true;         // false: at least this many
  bool chunks_complete = true;  // false: not counted, or some index could not be read
};

bool CountShards(VolumeFs& fs, const std::string& directory, ChunkTree& tree,
                 const std::string& below, ShardCount& count) {
  std::vector<std::string> deeper;
  const auto listed =
      fs.parts().store->List(JoinPath(directory, below), [&](const ListEntry& entry) {
        const std::string key = JoinPath(below, entry.name);
        if (entry.kind == ObjectInfo::Kind::kDirectory) {
          deeper.push_back(key);
          return true;
        }
        const auto shard = tree.shards().keys().Parse(key);
        if (!shard) return true;
        if (++count.shards > kCountedShards) return count.complete = false;
        const auto generation = tree.shards().Current(*shard);
        const auto counted =
            generation ? tree.ForEachPresent(*generation, [&](const ChunkRef&) { ++count.chunks; })
                       : Status(tl::unexpected<Error>(generation.error()));
        if (!counted) count.chunks_complete = false;
        return true;
      });
  if (!listed || !count.complete) return false;
  for (const std::string& key : deeper) {
    if (!CountShards(fs, directory, tree, key, count)) return false;
  }
  return true;
}

JsonValue Numbers(const std::vector<std::uint64_t>& numbers) {
  std::vector<JsonValue> items;
  for (const std::uint64_t number : numbers) items.push_back(JsonValue::Number(number));
  return JsonValue::Array(std::move(items));
}

JsonValue DatasetObject(const FoundDataset& found, const ShardCount& count) {
  JsonValue object = JsonValue::Object();
  object.Set("path", JsonValue::String(found.path));
  object.Set("format", JsonValue::String(found.format));
  object.Set("sharded", JsonValue::Boolean(found.tree != nullptr));
  if (!found.description.empty()) {
    object.Set("description", JsonValue::String(found.description));
  }
  if (!found.data_type.empty()) object.Set("data_type", JsonValue::String(found.data_type));
  if (!found.encoding.empty()) object.Set("encoding", JsonValue::String(found.encoding));
  if (!found.shape.empty()) object.Set("shape", Numbers(found.shape));
  if (!found.chunk_shape.empty()) object.Set("chunk_shape", Numbers(found.chunk_shape));
  if (!found.shard_shape.empty()) object.Set("shard_shape", Numbers(found.shard_shape));
  if (found.tree && count.complete) {
    object.Set("shards", JsonValue::Number(count.shards));
    if (count.chunks_complete) object.Set("chunks", JsonValue::Number(count.chunks));
  }
  if (found.fault) object.Set("fault", JsonValue::String(found.fault->message));
  return object;
}

std::string DatasetLine(const FoundDataset& found, const ShardCount& count) {
  std::string line = "/" + found.path + "\n    " + found.format;
  if (!found.description.empty()) line += ": " + found.description;
  if (found.fault) line += "\n    broken: " + found.fault->message;
  if (found.tree) {
    line += "\n    " + std::string(count.complete ? "" : "more than ") +
            std::to_string(count.complete ? count.shards : kCountedShards) + " shards";
    if (count.complete && count.chunks_complete) {
      line += ", " + std::to_string(count.chunks) + " chunks";
    }
  }
  return line + "\n";
}

}  // namespace

Result<std::string> DescribeSource(const std::string& source, bool json) {
  MountOptions options;
  options.source = source;
  options.immutable = true;
  options.read_only = true;
  ChangeQueue changes;
  UNSHARD_ASSIGN_OR_RETURN(const auto fs, OpenVolume(options, changes));
  std::string text;
  std::vector<JsonValue> datasets;
  for (const FoundDataset& found : fs->parts().datasets->found()) {
    ShardCount count;
    if (found.tree) CountShards(*fs, found.tree->directory(), *found.tree, "", count);
    datasets.push_back(DatasetObject(found, count));
    text += DatasetLine(found, count);
  }
  if (!json) return text;
  JsonValue object = JsonValue::Object();
  object.Set("source", JsonValue::String(source));
  object.Set("datasets", JsonValue::Array(std::move(datasets)));
  return WriteJson(object) + "\n";
}

}  // namespace unshard
