// What a writable mount has in its spool and has published: .unshard/status.json and metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// A committed chunk that was quarantined: the store held another version than its writer knew, or
// its bytes are not those that were committed.
struct SpoolConflict {
  std::string dataset;
  std::string chunk;
  std::uint64_t sequence = 0;
  std::string path;  // of the quarantined file
};

struct PublishFailure {
  std::string errno_name;  // "ENOSPC"
  std::string message;
};
PublishFailure DescribeFailure(const Error& error);

// Plain values, taken at one moment.
struct SpoolStatus {
  static constexpr std::size_t kShownConflicts = 100;

  std::string spool;  // the directory of this mount's own spool
  std::uint64_t spool_bytes = 0, spool_files = 0;
  std::uint64_t max_spool_bytes = 0, max_spool_files = 0;
  std::uint64_t dirty_chunks = 0, dirty_bytes = 0, dirty_shards = 0;
  std::optional<std::uint64_t> oldest_milliseconds;  // age of the oldest unpublished chunk
  std::uint64_t running = 0;                         // publishes at this moment
  std::uint64_t publishes = 0, bytes_published = 0, publish_failures = 0;
  std::optional<PublishFailure> last_failure;  // of a shard that is still dirty
  std::uint64_t conflicts = 0;                 // since the mount began
  std::vector<SpoolConflict> conflicting;      // at most kShownConflicts are shown
  std::uint64_t damaged = 0;                   // files in quarantine
  std::vector<SpoolConflict> quarantined;      // as many
  std::uint64_t scratch_files = 0;             // of the mount, which end with it
  std::vector<std::string> scratch;            // their paths below the mount point, as many
  std::uint64_t lost = 0;  // committed chunks whose file was removed from the spool by others
};

// The member "write" of status.json, and back. Parsing fails with kDataLoss naming the field.
JsonValue SpoolStatusObject(const SpoolStatus& status);
Result<SpoolStatus> ParseSpoolStatus(const JsonCursor& cursor);

// Prometheus text of the metrics unshard_spool_bytes, unshard_dirty_chunks, ….
std::string WriteMetricsText(const SpoolStatus& status);

}  // namespace unshard
