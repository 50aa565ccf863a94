#include "store/volume_file/source_arrays.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "codec/volume_file/source.h"
#include "store/chunks/plain_tree.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/all_views.h"
#include "store/source/memory_shares.h"
#include "store/source/writable_views.h"

namespace unshard {
namespace {

// Above those of all trees that the volume serves: no chunk of another tree was committed.
constexpr std::uint32_t kFirstOrdinal = std::uint32_t{1} << 31;
// Beyond so many, what is known of arrays is read again.
constexpr std::size_t kMostKnown = 4096;
// Datasets, whose metadata may be large, that are read anew only after a change.
constexpr std::size_t kMostRead = 4;

bool IsSharded(const ViewSource::Level& level) {
  return level.precomputed_shards || level.zarr_shards;
}

}  // namespace

SourceArrays::SourceArrays(const VolumeParts& parts, const VolumeOptions& options)
    : parts_(parts),
      options_(options),
      root_(options.view == kAllViews ? kViewOfShards : std::string_view()),
      next_ordinal_(kFirstOrdinal) {}

std::string SourceArrays::KeyOf(const std::string& path) const { return JoinPath(root_, path); }

std::vector<std::string> SourceArrays::FoundIn(const std::string& directory) const {
  std::vector<std::string> paths = parts_.datasets->index().ArraysIn(KeyOf(directory));
  if (root_.empty()) return paths;
  for (std::string& path : paths) path.erase(0, std::min(root_.size() + 1, path.size()));
  return paths;
}

bool SourceArrays::HasDatasets(const std::string& directory) {
  const std::string key = KeyOf(directory);
  const DatasetIndex& index = parts_.datasets->index();
  if (index.HasArraysBelow(key)) return true;
  parts_.datasets->Find(key);
  const auto examined = index.ContributionAt(key);
  return (examined && !examined->found.empty() && examined->found.front().shape.empty()) ||
         index.HasArraysBelow(key);
}

bool SourceArrays::IsFresh(const Known& known) const {
  if (known.array->served && known.array->served->retired()) return false;
  if (options_.immutable) return true;
  const std::chrono::milliseconds ttl(options_.ttl_milliseconds);
  return Clock::now() - known.checked < ttl;
}

Result<SourceArrayPtr> SourceArrays::Find(const std::string& path) {
  const std::string key = KeyOf(path);
  std::optional<Known> known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) known = found->second;
  }
  if (known && IsFresh(*known)) return known->array;
  Known now;
  now.checked = Clock::now();
  bool up_to_date = false;
  const bool retired = known && known->array->served && known->array->served->retired();
  if (known && !retired) {
    UNSHARD_ASSIGN_OR_RETURN(up_to_date, AreVersions(*parts_.store, "", known->documents));
  }
  if (up_to_date) {
    now.array = known->array;
    now.documents = known->documents;
    now.text = known->text;
  } else {
    UNSHARD_ASSIGN_OR_RETURN(const auto place, Locate(key));
    if (!place) {
      const std::lock_guard lock(mutex_);
      known_.erase(key);
      return nullptr;
    }
    now.documents = place->described->documents;
    now.text = place->described->text;
    if (known && !retired && (known->text == now.text || *known->text == *now.text)) {
      now.array = known->array;
    } else {
      UNSHARD_ASSIGN_OR_RETURN(now.array, Open(key, *place));
    }
  }
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.insert_or_assign(key, std::move(now)).first->second.array;
}

// A dataset above the array says more of it than the array itself: where its voxels are.
Result<std::optional<SourceArrays::Place>> SourceArrays::Locate(const std::string& key) const {
  std::vector<std::string> datasets;
  for (std::string at = key; at != root_ && !at.empty();) {
    at = ParentPath(at);
    datasets.push_back(at);
  }
  const DatasetIndex& index = parts_.datasets->index();
  if (const auto served = index.ServedIn(key)) {
    if (const auto home = index.HomeOf(*served->tree)) datasets.push_back(*home);
  }
  datasets.push_back(key);
  std::optional<Error> failed;
  for (const std::string& dataset : datasets) {
    auto place = LocateIn(dataset, key);
    if (!place) {
      if (!failed) failed = std::move(place).error();
      continue;
    }
    if (!*place) continue;
    if (failed) LogWarning(failed->message + "; the voxels of " + key + " are located without it");
    return place;
  }
  if (failed) return tl::unexpected<Error>(*std::move(failed));
  return std::nullopt;
}

Result<std::optional<SourceArrays::Place>> SourceArrays::LocateIn(const std::string& dataset,
                                                                  const std::string& key) const {
  UNSHARD_ASSIGN_OR_RETURN(auto described, Read(dataset));
  if (!described) return std::nullopt;
  const auto level = described->levels.find(key);
  if (level == described->levels.end()) return std::nullopt;
  if (described->shared.contains(key)) {
    return Fail(ErrorCode::kNotSupported, parts_.store->Describe(key),
                ": holds the chunks of two scales");
  }
  return Place{dataset, std::move(described), level->second};
}

Result<SourceArrays::DescribedPtr> SourceArrays::Read(const std::string& dataset) const {
  const DescribedPtr last = ReadBefore(dataset);
  bool current = last && options_.immutable;
  if (last && !current) {
    UNSHARD_ASSIGN_OR_RETURN(current, AreVersions(*parts_.store, "", last->documents));
  }
  if (current) return last;
  UNSHARD_ASSIGN_OR_RETURN(auto source,
                           ReadViewSource(*parts_.store, dataset, parts_.catalog.get()));
  if (!source) return nullptr;
  auto read = std::make_shared<Described>();
  read->source = *std::move(source);
  read->text = std::make_shared<const std::string>(std::exchange(read->source.text, {}));
  for (const auto& [name, info] : read->source.documents) {
    read->documents[JoinPath(dataset, name)] = info;
  }
  for (std::size_t i = 0; i < read->source.levels.size(); ++i) {
    const std::string& directory = read->source.levels[i].directory;
    if (!read->levels.emplace(directory, i).second) read->shared.insert(directory);
  }
  Remember(dataset, read);
  return read;
}

SourceArrays::DescribedPtr SourceArrays::ReadBefore(const std::string& dataset) const {
  const std::lock_guard lock(mutex_);
  for (auto at = last_read_.begin(); at != last_read_.end(); ++at) {
    if (at->first != dataset) continue;
    last_read_.splice(last_read_.begin(), last_read_, at);
    return at->second;
  }
  return nullptr;
}

void SourceArrays::Remember(const std::string& dataset, DescribedPtr described) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(last_read_, [&](const auto& one) { return one.first == dataset; });
  last_read_.emplace_front(dataset, std::move(described));
  if (last_read_.size() > kMostRead) last_read_.pop_back();
}

Result<SourceArrayPtr> SourceArrays::Open(const std::string& key, const Place& place) {
  const Array& metadata = place.described->source.dataset.levels[place.level].array;
  if (!metadata.item_type.is_null()) {
    return Fail(ErrorCode::kNotSupported, parts_.store->Describe(key), ": items of ",
                ItemTypeName(metadata), " are no voxels");
  }
  if (Status can = metadata.codec->CanDecode(); !can) {
    return Forward(std::move(can).error(), parts_.store->Describe(key));
  }
  parts_.datasets->Find(place.dataset);
  parts_.datasets->Find(key);
  const ServedTree served = parts_.datasets->index().ServedIn(key).value_or(ServedTree{});
  if (!served.stored && IsSharded(place.described->source.levels[place.level])) {
    return Fail(ErrorCode::kUnavailable, parts_.store->Describe(key),
                ": its chunks are not available at the moment");
  }
  DecodedChunks::Parts chunks;
  chunks.tree = served.stored;
  if (!chunks.tree) {
    UNSHARD_ASSIGN_OR_RETURN(chunks.tree, OpenPlain(key, metadata));
  }
  chunks.array = metadata;
  chunks.written = parts_.written;
  chunks.cache = parts_.decoded;
  chunks.max_chunk_bytes = MemoryShares(options_.memory_bytes).chunk;
  chunks.prefetches = !parts_.store->capabilities().keeps_replaced_versions;
  chunks.decoded = decoded_;
  auto array = std::make_shared<SourceArray>();
  array->serial = ++last_serial_;
  array->described = DescribeLevel(place.described->source.dataset, place.level);
  array->modified = place.described->source.info.modified;
  array->served = served.tree;
  UNSHARD_ASSIGN_OR_RETURN(array->chunks, DecodedChunks::Make(std::move(chunks)));
  return array;
}

// Nothing is notified of changes of these objects: each read asks for the version, where that costs
// no request.
Result<std::shared_ptr<ShardedTree>> SourceArrays::OpenPlain(const std::string& directory,
                                                             const Array& array) {
  const MemoryShares memory(options_.memory_bytes);
  ShardSetOptions shards;
  shards.max_index_bytes = memory.index;
  shards.max_whole_shard_bytes = memory.whole_shard;
  shards.immutable = options_.immutable;
  const bool is_local = parts_.store->capabilities().keeps_replaced_versions;
  shards.ttl_milliseconds = is_local ? 0 : options_.ttl_milliseconds;
  const auto make = [&](std::shared_ptr<ObjectStore> objects, auto format, auto keys) {
    return std::make_shared<ShardSet>(std::move(objects), directory, std::move(format),
                                      std::move(keys), nullptr, parts_.indexes, shards);
  };
  return MakePlainTree(next_ordinal_++, array, make, parts_.reader, parts_.store, memory.chunk);
}

}  // namespace unshard
