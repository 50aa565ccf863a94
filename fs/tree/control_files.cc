#include "fs/tree/control_files.h"

#include <unistd.h>

#include <array>

#include "codec/core/escaped_text.h"
#include "codec/json/json.h"
#include "codec/json/writer.h"
#include "fs/common/process_table.h"
#include "fs/tree/superblock.h"
#include "store/dataset/all_views.h"
#include "store/dataset/spool_status.h"

namespace unshard {
namespace {

constexpr std::size_t kShownErrors = 10;

struct Metric {
  const char* name;
  const char* help;
  std::uint64_t value;
};

struct StoreTotals {
  std::uint64_t opens = 0;
  std::uint64_t index_reads = 0;
  std::uint64_t open_shards = 0;
};

StoreTotals Totals(const Superblock& superblock) {
  StoreTotals totals;
  for (const auto& tree : superblock.parts.datasets->trees()) {
    const ChunkStoreCounters counters = tree->chunks().counters();
    totals.opens += counters.opens;
    totals.index_reads += counters.index_reads;
    totals.open_shards += counters.open_objects;
  }
  return totals;
}

void AddDiskCache(const DiskCacheCounters& counters, std::vector<Metric>& to) {
  to.insert(
      to.end(),
      {
          {"disk_cache_bytes", "Bytes of the cache on the disk, of all mounts.", counters.bytes},
          {"disk_cache_hits_total", "Reads that the cache on the disk served.", counters.hits},
          {"disk_cache_misses_total", "Reads that it could not serve.", counters.misses},
          {"disk_cache_written_total", "Entries that were written to it.", counters.written},
          {"disk_cache_dropped_total", "Entries that were not, because the disk is slow or failed.",
           counters.dropped},
          {"disk_cache_damaged_total", "Entries that failed their checksum.", counters.damaged},
          {"disk_cache_evictions_total", "Entries that were removed for others.",
           counters.evictions},
      });
}

std::vector<Metric> Metrics(Superblock& superblock) {
  const Counters& counters = superblock.counters;
  const StoreTotals store = Totals(superblock);
  const CacheCounters indexes = superblock.parts.indexes->counters();
  const CacheCounters decoded = superblock.parts.decoded->counters();
  std::vector<Metric> metrics{
      {"over_io_uring_total", "Of all requests, those that came over io_uring.",
       counters.over_io_uring},
      {"errors_total", "Failed requests.", counters.errors},
      {"bytes_read_total", "Bytes given to readers.", counters.bytes_read},
      {"bytes_spliced_total", "Of these, bytes that were spliced from shards.",
       counters.bytes_spliced},
      {"store_opens_total", "Shards opened.", store.opens},
      {"store_index_reads_total", "Reads of shard and minishard indexes.", store.index_reads},
      {"store_data_reads_total", "Reads of chunk data.", superblock.parts.reads->data_reads},
      {"chunks_decoded_total", "Chunks whose data_encoding was undone.",
       superblock.parts.reads->chunks_decoded},
      {"file_chunks_decoded_total", "Chunks decoded for files of whole arrays.",
       superblock.arrays ? superblock.arrays->chunks_decoded() : 0},
      {"shards_changed_total", "Shards found replaced, added or removed.", counters.shards_changed},
      {"entries_invalidated_total",
       "FUSE_NOTIFY_INVAL_ENTRY sent: names that the kernel is to look up again.",
       counters.entries_invalidated},
      {"shards_in_use", "Shards remembered.", store.open_shards},
      {"nodes", "Nodes in the table.", superblock.nodes.size()},
      {"index_cache_bytes", "Bytes of index pages kept.", indexes.bytes},
      {"index_cache_hits_total", "Index pages found in the cache.", indexes.hits},
      {"index_cache_misses_total", "Index pages loaded.", indexes.misses},
      {"chunk_cache_bytes", "Bytes of decoded chunks kept.", decoded.bytes},
      {"chunk_cache_hits_total", "Decoded chunks found in the cache.", decoded.hits},
      {"chunk_cache_misses_total", "Chunks decoded for the cache.", decoded.misses},
  };
  if (superblock.parts.disk_cache) AddDiskCache(superblock.parts.disk_cache->counters(), metrics);
  return metrics;
}

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
  return object;
}

JsonValue CountersObject(Superblock& superblock) {
  const Counters& counters = superblock.counters;
  const StoreTotals totals = Totals(superblock);
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

std::string MetricsText(Superblock& superblock) {
  std::string text =
      "# HELP unshard_requests_total Requests of the kernel.\n"
      "# TYPE unshard_requests_total counter\n";
  for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
    text += "unshard_requests_total{operation=\"" + std::string(kOperationNames[i]) + "\"} " +
            std::to_string(superblock.counters.requests[i]) + "\n";
  }
  for (const Metric& metric : Metrics(superblock)) {
    const std::string name = std::string("unshard_") + metric.name;
    const bool counter = name.ends_with("_total");
    text += "# HELP " + name + " " + metric.help + "\n";
    text += "# TYPE " + name + (counter ? " counter\n" : " gauge\n");
    text += name + " " + std::to_string(metric.value) + "\n";
  }
  if (const auto writing = superblock.write_status()) text += WriteMetricsText(*writing);
  return text;
}

std::string ConfigText(Superblock& superblock) { return DescribeOptions(superblock.options); }

std::string ErrorsText(Superblock& superblock) { return superblock.errors.Text(); }

struct ControlFileEntry {
  std::string_view name;
  std::string (*text)(Superblock& superblock);
};

// By name.
constexpr std::array kControlFiles{
    ControlFileEntry{"config.json", ConfigText},
    ControlFileEntry{"errors", ErrorsText},
    ControlFileEntry{"metrics", MetricsText},
    ControlFileEntry{"status.json", StatusText},
};

}  // namespace

const std::vector<std::string>& ControlFileNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ControlFileEntry& file : kControlFiles) all.emplace_back(file.name);
    return all;
  }();
  return names;
}

std::optional<std::string> ControlFileText(Superblock& superblock, std::string_view name) {
  for (const ControlFileEntry& file : kControlFiles) {
    if (file.name == name) return file.text(superblock);
  }
  return std::nullopt;
}

}  // namespace unshard
