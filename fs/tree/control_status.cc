// status.json: process, source, counters, datasets and the latest errors.
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/escaped_text.h"
#include "codec/json/json.h"
#include "codec/json/writer.h"
#include "fs/common/process_table.h"
#include "fs/common/version.h"
#include "fs/tree/control_files.h"
#include "fs/tree/superblock.h"
#include "store/source/all_views.h"
#include "store/volume/spool_status.h"

namespace unshard {
namespace {

constexpr std::size_t kShownErrors = 10;

JsonValue CacheObject(const CacheCounters& counters) {
  JsonValue object = JsonValue::Object();
  object.Set("bytes", JsonValue::Number(counters.bytes));
  object.Set("entries", JsonValue::Number(counters.entries));
  object.Set("hits", JsonValue::Number(counters.hits));
  object.Set("misses", JsonValue::Number(counters.misses));
  object.Set("evictions", JsonValue::Number(counters.evictions));
  return object;
}

JsonValue DiskCacheObject(const DiskCacheCounters& counters) {
  JsonValue object = JsonValue::Object();
  object.Set("bytes", JsonValue::Number(counters.bytes));
  object.Set("hits", JsonValue::Number(counters.hits));
  object.Set("misses", JsonValue::Number(counters.misses));
  object.Set("written", JsonValue::Number(counters.written));
  object.Set("dropped", JsonValue::Number(counters.dropped));
  object.Set("damaged", JsonValue::Number(counters.damaged));
  object.Set("evictions", JsonValue::Number(counters.evictions));
  object.Set("waiting", JsonValue::Number(counters.waiting));
  return object;
}

JsonValue CountersObject(Superblock& superblock) {
  const Counters& counters = superblock.counters;
  const ChunkStoreCounters totals = CountersOfStores(superblock);
  JsonValue requests = JsonValue::Object();
  for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
    requests.Set(kOperationNames[i], JsonValue::Number(counters.requests[i]));
  }
  JsonValue store = JsonValue::Object();
  store.Set("opens", JsonValue::Number(totals.opens));
  store.Set("index_reads", JsonValue::Number(totals.index_reads));
  store.Set("data_reads", JsonValue::Number(superblock.parts.reads->data_reads));
  JsonValue object = JsonValue::Object();
  object.Set("requests", std::move(requests));
  object.Set("over_io_uring", JsonValue::Number(counters.over_io_uring));
  object.Set("errors", JsonValue::Number(counters.errors));
  object.Set("bytes_read", JsonValue::Number(counters.bytes_read));
  object.Set("bytes_spliced", JsonValue::Number(counters.bytes_spliced));
  object.Set("store", std::move(store));
  object.Set("chunks_decoded", JsonValue::Number(superblock.parts.reads->chunks_decoded));
  object.Set("shards_changed", JsonValue::Number(counters.shards_changed));
  object.Set("entries_invalidated", JsonValue::Number(counters.entries_invalidated));
  object.Set("index_cache", CacheObject(superblock.parts.indexes->counters()));
  object.Set("chunk_cache", CacheObject(superblock.parts.decoded->counters()));
  const auto& disk_cache = superblock.parts.disk_cache;
  object.Set("disk_cache", disk_cache ? DiskCacheObject(disk_cache->counters()) : JsonValue());
  object.Set("nodes", JsonValue::Number(superblock.nodes.size()));
  return object;
}

std::string StatusText(Superblock& superblock) {
  JsonValue status = JsonValue::Object();
  status.Set("pid", JsonValue::Number(static_cast<std::uint64_t>(getpid())));
  const auto name_space = OwnPidNamespace();
  status.Set("pid_namespace", name_space ? JsonValue::Number(*name_space) : JsonValue());
  status.Set("version", JsonValue::String(std::string(kVersion)));
  status.Set("source", JsonValue::String(EscapeBytes(superblock.options.source)));
  status.Set("mount_point", JsonValue::String(EscapeBytes(superblock.options.mount_point)));
  status.Set("read_only", JsonValue::Boolean(superblock.options.read_only));
  status.Set("watched", JsonValue::Boolean(superblock.parts.watcher->complete()));
  const auto writing = superblock.write_status();
  status.Set("write", writing ? SpoolStatusObject(*writing) : JsonValue());
  status.Set("counters", CountersObject(superblock));
  std::vector<JsonValue> datasets;
  for (const FoundDataset& found : superblock.parts.datasets->found()) {
    JsonValue dataset = JsonValue::Object();
    dataset.Set("path", JsonValue::String(EscapeBytes(found.path)));
    dataset.Set("format", JsonValue::String(found.format));
    if (found.fault) dataset.Set("fault", JsonValue::String(EscapeBytes(found.fault->message)));
    datasets.push_back(std::move(dataset));
  }
  status.Set("datasets", JsonValue::Array(std::move(datasets)));
  JsonValue refused = JsonValue::Object();
  for (const auto& [view, why] : superblock.parts.datasets->refused_views()) {
    refused.Set(view, JsonValue::String(EscapeBytes(why.message)));
  }
  if (superblock.options.view == kAllViews) status.Set("refused_views", std::move(refused));
  std::vector<JsonValue> errors;
  for (const std::string& line : superblock.errors.Latest(kShownErrors)) {
    errors.push_back(JsonValue::String(EscapeBytes(line)));
  }
  status.Set("last_errors", JsonValue::Array(std::move(errors)));
  return WriteJson(status) + "\n";
}

}  // namespace

ControlFileKind StatusFile() { return {"status.json", StatusText}; }

}  // namespace unshard
