#include "fs/cli/absent_path.h"

#include <optional>
#include <string_view>

#include "codec/core/escaped_text.h"
#include "codec/json/parser.h"
#include "fs/cli/mount_command.h"
#include "fs/common/option_table.h"
#include "store/local/shard_lock.h"
#include "store/object/key.h"
#include "store/volume/volume.h"

namespace unshard {
namespace {

std::optional<VolumeOptions> OptionsOfMount(const std::string& config) {
  const auto document = ParseJson(config);
  if (!document) return std::nullopt;
  MountOptions options;
  for (const char* name : {"view", "morton"}) {
    const JsonValue* value = document->Find(name);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    const MountOption& option = *FindMountOption(name);
    if (!option.apply(option, value->text(), options)) return std::nullopt;
  }
  const JsonValue* source = document->Find("source");
  if (source == nullptr || !source->is_string()) return std::nullopt;
  if (!NameSource(source->text(), options)) return std::nullopt;
  options.immutable = options.read_only = true;
  return options;
}

// What a path below the directory of a tree means there.
NameKind KindOf(const ChunkTree& tree, std::string_view below) {
  GridDirectory directory;
  while (true) {
    const std::size_t slash = below.find('/');
    const ChunkTree::Match match = tree.Resolve(directory, below.substr(0, slash));
    if (slash == std::string_view::npos || match.kind != NameKind::kDirectory) return match.kind;
    directory = match.directory;
    below.remove_prefix(slash + 1);
  }
}

std::string DescriptionOf(const DatasetTree& datasets, const std::string& path) {
  for (const FoundDataset& found : datasets.found()) {
    if (found.path == path && !found.description.empty()) {
      return ", which has " + Printable(found.description);
    }
  }
  return "";
}

std::string Explain(DatasetTree& datasets, const std::string& path, bool writable) {
  for (std::size_t end = path.rfind('/');; end = path.rfind('/', end - 1)) {
    const std::string above = end == std::string::npos ? "" : path.substr(0, end);
    const std::string_view below = std::string_view(path).substr(above.empty() ? 0 : end + 1);
    const auto overlay = datasets.Find(above);
    for (const auto& tree : overlay ? overlay->trees : std::vector<std::shared_ptr<ChunkTree>>()) {
      const NameKind kind = KindOf(*tree, below);
      if (kind == NameKind::kChunk) {
        return std::string("this chunk is not stored: its voxels have the fill value") +
               (writable ? ", and writing a file of this name creates it" : "");
      }
      if (kind == NameKind::kNoChunk) {
        return "this looks like the name of a chunk, but the chunk is outside the array" +
               DescriptionOf(datasets, above);
      }
      if (tree->IsShardKey(WithoutLockSuffix(below))) {
        return "this is a shard, or its lock, in the source: the mount shows its chunks as files "
               "instead";
      }
    }
    if (above.empty()) break;
  }
  for (const FoundDataset& found : datasets.found()) {
    const bool plain = !found.tree && !found.chunk_shape.empty();
    if (!plain || found.path == path || !IsAtOrBelow(path, found.path)) continue;
    return "the source has no such file; in an array without shards (" +
           Printable(found.description) + ") the voxels of a missing chunk have the fill value";
  }
  return "no file of the source and no chunk has this name";
}

}  // namespace

std::string ExplainAbsentPath(const std::string& config, const std::string& inside, bool writable) {
  const auto options = OptionsOfMount(config);
  if (!options || inside.size() < 2) return "";
  const auto volume = Volume::Open(*options, nullptr);
  return volume ? Explain(*(*volume)->parts().datasets, inside.substr(1), writable) : "";
}

}  // namespace unshard
