// How a source is read and written, whoever presents it; plain values without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/zarr3/shard_template.h"

namespace unshard {

enum class MortonChoice { kDetect, kStandard, kLegacy };
enum class WatchMode { kAutomatic, kOff };
// What fsync waits for: that the chunk is durable in the spool, or that its shard holds it.
enum class SyncMode { kSpool, kStore };

inline constexpr std::size_t kSearchedAhead = 4096;

struct VolumeOptions {
  // A directory, or a URL as it may be shown: without user information and query.
  std::string source;
  // The URL as it was given, for the store alone: it may hold secrets. "" for a directory.
  std::string url;
  // What the name of the source says that it is (NamedSource::format); "": nothing.
  std::string format;
  // The name of the source says that it is a ZIP archive ("|zip:"), and which directory of it is
  // meant; nothing: its name decides (store/source/zip_place.h).
  std::optional<std::string> inside_zip;
  // ZIP archives below a directory are directories; implies read_only.
  bool enters_zips = false;
  std::string view = "native";      // a name that FindView knows (store/views/views.h), or "all"
  std::string view_codec = "none";  // a name that FindViewCodec knows
  // Of views: a name that FindOmeVersion knows; "": that of the source.
  std::string ome;
  // Chunks that are written into a view may be stored in an encoding that loses.
  bool lossy = false;
  MortonChoice morton = MortonChoice::kDetect;
  // Directories that are searched for datasets at the start; others are searched when they are
  // first looked up. Nothing: kSearchedAhead, or only the source itself where the store cannot
  // list.
  std::optional<std::size_t> searched_ahead;
  WatchMode watch = WatchMode::kAutomatic;
  std::uint64_t ttl_milliseconds = 1000;
  bool immutable = false;  // implies read_only
  bool read_only = false;
  // A remote store that cannot be written, for the reason in a line of the log, is only read; else
  // opening it fails.
  bool read_only_otherwise = false;
  // The folder in which each writable mount has a spool of its own; "": DefaultSpoolFolder().
  std::string spool;
  std::uint64_t spool_bytes = std::uint64_t{4} << 30;
  std::uint64_t spool_files = std::uint64_t{1} << 17;  // each takes a few hundred bytes of memory
  std::uint64_t publish_after_milliseconds = 5000;
  unsigned publish_threads = 2;
  SyncMode sync = SyncMode::kSpool;
  // A chunk that another host has written meanwhile is quarantined; else the last publisher wins.
  bool strict = false;
  // New Zarr v3 arrays are stored in shards of this shape; nothing: as they are written.
  std::optional<ShardTemplate> shard;
  // No other host writes the source: locks between hosts are not needed.
  bool single_writer = false;
  // Of remote stores: no credential is looked for or sent; plain http also to other hosts.
  bool anonymous = false;
  bool allow_http = false;
  // Of buckets, in place of what the environment says; "": as it says. The region and the profile
  // of AWS's settings are of s3:// only.
  std::string endpoint;
  std::string region;
  std::string profile;
  // Of remote stores: the folder in which what they send is kept, also for later mounts; "": none.
  std::string cache;
  std::uint64_t cache_bytes = std::uint64_t{4} << 30;
  std::uint64_t memory_bytes = std::uint64_t{512} << 20;
};

}  // namespace unshard
