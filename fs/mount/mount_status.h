// The contents of .unshard/status.json, for programs of ours and for people.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/volume/spool_status.h"

namespace unshard {

struct MountStatus {
  std::string text;  // of the file, unchanged
  pid_t pid = 0;     // in its own pid namespace
  std::optional<std::uint64_t> pid_namespace;
  std::string source;
  std::string mount_point;
  bool read_only = true;
  std::optional<SpoolStatus> write;  // nothing on a read-only mount
  std::vector<std::string> last_errors;
};

// Fails with kDataLoss, naming the member that is missing or malformed.
Result<MountStatus> ParseMountStatus(std::string text);

// The text that `unshard status` prints: lines for people.
std::string DescribeMountStatus(const MountStatus& status);
// The same on one line, for `--watch` into a file or a pipe.
std::string SummarizeMountStatus(const MountStatus& status);
// "/…: 3 chunks (1 MB) stay in the spool".
std::string DescribeSpooled(std::uint64_t chunks, std::uint64_t bytes, const std::string& spool);

}  // namespace unshard
