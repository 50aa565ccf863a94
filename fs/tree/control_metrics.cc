// metrics: the counters of the mount in the text form of Prometheus.
#include <cstdint>
#include <string>
#include <vector>

#include "fs/tree/control_files.h"
#include "fs/tree/superblock.h"
#include "store/volume/spool_status.h"

namespace unshard {
namespace {

struct Metric {
  const char* name;
  const char* help;
  std::uint64_t value;
};

void AddDiskCache(const DiskCacheCounters& counters, std::vector<Metric>& to) {
  to.insert(
      to.end(),
      {
          {"disk_cache_bytes", "Bytes in the disk cache, of all mounts.", counters.bytes},
          {"disk_cache_hits_total", "Reads that the disk cache served.", counters.hits},
          {"disk_cache_misses_total", "Reads that the disk cache could not serve.",
           counters.misses},
          {"disk_cache_written_total", "Entries written to the disk cache.", counters.written},
          {"disk_cache_dropped_total",
           "Entries not written to the disk cache, because the disk is slow or failed.",
           counters.dropped},
          {"disk_cache_damaged_total", "Entries of the disk cache that failed their checksum.",
           counters.damaged},
          {"disk_cache_evictions_total", "Entries removed from the disk cache to make room.",
           counters.evictions},
      });
}

std::vector<Metric> Metrics(Superblock& superblock) {
  const Counters& counters = superblock.counters;
  const ChunkStoreCounters store = CountersOfStores(superblock);
  const CacheCounters indexes = superblock.parts.indexes->counters();
  const CacheCounters decoded = superblock.parts.decoded->counters();
  std::vector<Metric> metrics{
      {"over_io_uring_total", "Requests of the kernel that came over io_uring.",
       counters.over_io_uring},
      {"errors_total", "Failed requests.", counters.errors},
      {"bytes_read_total", "Bytes given to readers.", counters.bytes_read},
      {"bytes_spliced_total", "Bytes given to readers by splicing them from shards.",
       counters.bytes_spliced},
      {"store_opens_total", "Shards opened.", store.opens},
      {"store_index_reads_total", "Reads of shard and minishard indexes.", store.index_reads},
      {"store_data_reads_total", "Reads of chunk data.", superblock.parts.reads->data_reads},
      {"chunks_decoded_total", "Chunks decoded from their data_encoding.",
       superblock.parts.reads->chunks_decoded},
      {"file_chunks_decoded_total", "Chunks decoded for files of whole arrays.",
       superblock.arrays ? superblock.arrays->chunks_decoded() : 0},
      {"shards_changed_total", "Shards found replaced, added or removed.", counters.shards_changed},
      {"entries_invalidated_total", "Names invalidated in the kernel (FUSE_NOTIFY_INVAL_ENTRY).",
       counters.entries_invalidated},
      {"shards_in_use", "Shards remembered.", store.open_objects},
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

}  // namespace

ControlFileKind MetricsFile() { return {"metrics", MetricsText}; }

}  // namespace unshard
