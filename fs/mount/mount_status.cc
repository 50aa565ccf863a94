#include "fs/mount/mount_status.h"

#include <limits>

#include "codec/core/escaped_text.h"
#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "fs/common/readable.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr JsonLimits kLimits{.max_bytes = std::size_t{16} << 20};

std::string OldestText(const SpoolStatus& write) {
  return write.oldest_milliseconds ? ", oldest " + ReadableAge(*write.oldest_milliseconds) : "";
}

std::string ConflictLines(const std::vector<SpoolConflict>& conflicts) {
  std::string text;
  for (const SpoolConflict& conflict : conflicts) {
    text += "            " + Printable(JoinPath(conflict.dataset, conflict.chunk)) + " (" +
            std::to_string(conflict.sequence) + "), kept as " + Printable(conflict.path) + "\n";
  }
  return text;
}

std::string WriteLines(const SpoolStatus& write) {
  std::string text =
      "spool       " + Printable(write.spool) + "\n            " +
      ReadableBytes(write.spool_bytes) + " of " + ReadableBytes(write.max_spool_bytes) + ", " +
      std::to_string(write.spool_files) + " of " + Counted(write.max_spool_files, "file") + "\n";
  text += "dirty       " + Counted(write.dirty_chunks, "chunk") + " (" +
          ReadableBytes(write.dirty_bytes) + ") in " + Counted(write.dirty_shards, "shard") +
          OldestText(write) + "\n";
  text += "published   " + Counted(write.publishes, "shard") + ", " +
          ReadableBytes(write.bytes_published) + " written to the store since the mount";
  if (write.running > 0) text += "; " + std::to_string(write.running) + " under way";
  text += "\n";
  if (write.publish_failures > 0) {
    text += "failed      " + Counted(write.publish_failures, "publish attempt") + "\n";
  }
  if (write.last_failure) {
    text += "            " + write.last_failure->errno_name + ": " +
            Printable(write.last_failure->message) + "\n";
  }
  // Conflicts of earlier mounts are listed too, even where this one has had none.
  if (write.conflicts > 0 || !write.conflicting.empty()) {
    text += "conflicts   " + std::to_string(write.conflicts) + "\n";
  }
  text += ConflictLines(write.conflicting);
  if (write.damaged > 0) text += "damaged     " + std::to_string(write.damaged) + "\n";
  text += ConflictLines(write.quarantined);
  if (write.lost > 0) {
    text += "lost        " + Counted(write.lost, "chunk") +
            ", whose files another process removed from the spool\n";
  }
  return text;
}

}  // namespace

Result<MountStatus> ParseMountStatus(std::string text) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, ParseJson(text, kLimits));
  const JsonCursor root(document, "status.json");
  MountStatus status;
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t pid,
                           root.UnsignedMember("pid", 1, std::numeric_limits<pid_t>::max()));
  status.pid = static_cast<pid_t>(pid);
  UNSHARD_ASSIGN_OR_RETURN(const auto name_space, root.OptionalMember("pid_namespace"));
  if (name_space) {
    UNSHARD_ASSIGN_OR_RETURN(status.pid_namespace,
                             name_space->Unsigned(0, std::numeric_limits<std::uint32_t>::max()));
  }
  UNSHARD_ASSIGN_OR_RETURN(status.source, root.EscapedMember("source"));
  UNSHARD_ASSIGN_OR_RETURN(status.mount_point, root.EscapedMember("mount_point"));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor read_only, root.Member("read_only"));
  UNSHARD_ASSIGN_OR_RETURN(status.read_only, read_only.Boolean());
  UNSHARD_ASSIGN_OR_RETURN(const auto write, root.OptionalMember("write"));
  if (write) {
    UNSHARD_ASSIGN_OR_RETURN(status.write, ParseSpoolStatus(*write));
  }
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor errors, root.Member("last_errors"));
  UNSHARD_ASSIGN_OR_RETURN(const auto lines, errors.Items());
  for (const JsonCursor& line : lines) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string error, line.String());
    status.last_errors.push_back(UnescapeBytes(error));
  }
  status.text = std::move(text);
  return status;
}

std::string DescribeMountStatus(const MountStatus& status) {
  std::string text = "source      " + Printable(status.source) + "\nmounted on  " +
                     Printable(status.mount_point) +
                     (status.read_only ? ", read-only" : ", read-write") + ", process " +
                     std::to_string(status.pid) + "\n";
  if (status.write) text += WriteLines(*status.write);
  if (!status.last_errors.empty()) text += "last errors\n";
  for (const std::string& line : status.last_errors) text += "  " + Printable(line) + "\n";
  return text;
}

std::string SummarizeMountStatus(const MountStatus& status) {
  if (!status.write) return Printable(status.mount_point) + ": read-only";
  const SpoolStatus& write = *status.write;
  std::string text =
      Printable(status.mount_point) + ": " + Counted(write.dirty_chunks, "dirty chunk") + " (" +
      ReadableBytes(write.dirty_bytes) + ") in " + Counted(write.dirty_shards, "shard") +
      OldestText(write) + "; " + std::to_string(write.publishes) + " published, " +
      ReadableBytes(write.bytes_published);
  if (write.publish_failures > 0) text += "; " + std::to_string(write.publish_failures) + " failed";
  if (write.last_failure) text += ", last with " + write.last_failure->errno_name;
  if (write.conflicts > 0) text += "; " + Counted(write.conflicts, "conflict");
  return text;
}

std::string DescribeSpooled(std::uint64_t chunks, std::uint64_t bytes, const std::string& spool) {
  return Printable(spool) + ": " + Counted(chunks, "chunk") + " (" + ReadableBytes(bytes) +
         ") stay in the spool";
}

}  // namespace unshard
