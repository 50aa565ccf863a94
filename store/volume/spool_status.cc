#include "store/volume/spool_status.h"

#include <array>
#include <cstdio>

#include "codec/core/escaped_text.h"
#include "store/object/error_number.h"

namespace unshard {
namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};

// The plain numbers, as they are named in status.json.
struct NumberField {
  const char* name;
  std::uint64_t SpoolStatus::*member;
};
constexpr std::array<NumberField, 15> kNumbers = {{
    {"spool_bytes", &SpoolStatus::spool_bytes},
    {"spool_files", &SpoolStatus::spool_files},
    {"max_spool_bytes", &SpoolStatus::max_spool_bytes},
    {"max_spool_files", &SpoolStatus::max_spool_files},
    {"dirty_chunks", &SpoolStatus::dirty_chunks},
    {"dirty_bytes", &SpoolStatus::dirty_bytes},
    {"dirty_shards", &SpoolStatus::dirty_shards},
    {"running", &SpoolStatus::running},
    {"publishes", &SpoolStatus::publishes},
    {"bytes_published", &SpoolStatus::bytes_published},
    {"publish_failures", &SpoolStatus::publish_failures},
    {"conflicts", &SpoolStatus::conflicts},
    {"damaged", &SpoolStatus::damaged},
    {"scratch_files", &SpoolStatus::scratch_files},
    {"lost", &SpoolStatus::lost},
}};

struct NumberMetric {
  const char* name;
  const char* help;
  std::uint64_t SpoolStatus::*member;
};
constexpr std::array<NumberMetric, 10> kMetrics = {{
    {"unshard_spool_bytes", "Bytes in the spool.", &SpoolStatus::spool_bytes},
    {"unshard_spool_files", "Files in the spool.", &SpoolStatus::spool_files},
    {"unshard_dirty_chunks", "Committed chunks that are not published.",
     &SpoolStatus::dirty_chunks},
    {"unshard_dirty_shards", "Shards that wait to be published.", &SpoolStatus::dirty_shards},
    {"unshard_publishes_total", "Shards published.", &SpoolStatus::publishes},
    {"unshard_bytes_published_total", "Bytes written to the store.", &SpoolStatus::bytes_published},
    {"unshard_publish_failures_total", "Publishes that failed and are retried.",
     &SpoolStatus::publish_failures},
    {"unshard_conflicts_total", "Chunks that another process had changed meanwhile.",
     &SpoolStatus::conflicts},
    {"unshard_damaged", "Files in the spool whose bytes are not those that were committed.",
     &SpoolStatus::damaged},
    {"unshard_lost_total", "Committed chunks whose file another process removed from the spool.",
     &SpoolStatus::lost},
}};

std::string MetricText(const std::string& name, const char* help, const std::string& value) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name +
         (name.ends_with("_total") ? " counter\n" : " gauge\n") + name + " " + value + "\n";
}

JsonValue ConflictObject(const SpoolConflict& conflict) {
  JsonValue object = JsonValue::Object();
  object.Set("dataset", JsonValue::String(EscapeBytes(conflict.dataset)));
  object.Set("chunk", JsonValue::String(EscapeBytes(conflict.chunk)));
  object.Set("sequence", JsonValue::Number(conflict.sequence));
  object.Set("path", JsonValue::String(EscapeBytes(conflict.path)));
  return object;
}

JsonValue ConflictsArray(const std::vector<SpoolConflict>& conflicts) {
  std::vector<JsonValue> items;
  for (const SpoolConflict& conflict : conflicts) {
    if (items.size() == SpoolStatus::kShownConflicts) break;
    items.push_back(ConflictObject(conflict));
  }
  return JsonValue::Array(std::move(items));
}

Result<SpoolConflict> ParseConflict(const JsonCursor& cursor) {
  SpoolConflict conflict;
  UNSHARD_ASSIGN_OR_RETURN(conflict.dataset, cursor.EscapedMember("dataset"));
  UNSHARD_ASSIGN_OR_RETURN(conflict.chunk, cursor.EscapedMember("chunk"));
  UNSHARD_ASSIGN_OR_RETURN(conflict.sequence, cursor.UnsignedMember("sequence"));
  UNSHARD_ASSIGN_OR_RETURN(conflict.path, cursor.EscapedMember("path"));
  return conflict;
}

Result<std::vector<SpoolConflict>> ParseConflicts(const JsonCursor& cursor, std::string_view key) {
  std::vector<SpoolConflict> conflicts;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, cursor.Member(key));
  UNSHARD_ASSIGN_OR_RETURN(const auto items, member.Items(SpoolStatus::kShownConflicts));
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(SpoolConflict conflict, ParseConflict(item));
    conflicts.push_back(std::move(conflict));
  }
  return conflicts;
}

}  // namespace

PublishFailure DescribeFailure(const Error& error) {
  return {ErrnoName(error.system_errno != 0 ? error.system_errno : ErrnoOf(error)), error.message};
}

JsonValue SpoolStatusObject(const SpoolStatus& status) {
  JsonValue object = JsonValue::Object();
  object.Set("spool", JsonValue::String(EscapeBytes(status.spool)));
  for (const NumberField& field : kNumbers) {
    object.Set(field.name, JsonValue::Number(status.*field.member));
  }
  object.Set("oldest_milliseconds", status.oldest_milliseconds
                                        ? JsonValue::Number(*status.oldest_milliseconds)
                                        : JsonValue());
  JsonValue failure;
  if (status.last_failure) {
    failure = JsonValue::Object();
    failure.Set("errno", JsonValue::String(status.last_failure->errno_name));
    failure.Set("message", JsonValue::String(EscapeBytes(status.last_failure->message)));
  }
  object.Set("last_failure", std::move(failure));
  object.Set("set_aside", ConflictsArray(status.conflicting));
  object.Set("quarantined", ConflictsArray(status.quarantined));
  std::vector<JsonValue> scratch;
  for (const std::string& path : status.scratch)
    scratch.push_back(JsonValue::String(EscapeBytes(path)));
  object.Set("scratch", JsonValue::Array(std::move(scratch)));
  return object;
}

Result<SpoolStatus> ParseSpoolStatus(const JsonCursor& cursor) {
  SpoolStatus status;
  UNSHARD_ASSIGN_OR_RETURN(status.spool, cursor.EscapedMember("spool"));
  for (const NumberField& field : kNumbers) {
    UNSHARD_ASSIGN_OR_RETURN(status.*field.member, cursor.UnsignedMember(field.name));
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto oldest, cursor.OptionalMember("oldest_milliseconds"));
  if (oldest) {
    UNSHARD_ASSIGN_OR_RETURN(status.oldest_milliseconds, oldest->Unsigned(0, kAny));
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto failure, cursor.OptionalMember("last_failure"));
  if (failure) {
    PublishFailure& last = status.last_failure.emplace();
    UNSHARD_ASSIGN_OR_RETURN(last.errno_name, failure->EscapedMember("errno"));
    UNSHARD_ASSIGN_OR_RETURN(last.message, failure->EscapedMember("message"));
  }
  UNSHARD_ASSIGN_OR_RETURN(status.conflicting, ParseConflicts(cursor, "set_aside"));
  UNSHARD_ASSIGN_OR_RETURN(status.quarantined, ParseConflicts(cursor, "quarantined"));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor scratch, cursor.Member("scratch"));
  UNSHARD_ASSIGN_OR_RETURN(const auto paths, scratch.Items(SpoolStatus::kShownConflicts));
  for (const JsonCursor& path : paths) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string text, path.String());
    status.scratch.push_back(UnescapeBytes(text));
  }
  return status;
}

std::string WriteMetricsText(const SpoolStatus& status) {
  std::string text;
  for (const NumberMetric& metric : kMetrics) {
    text += MetricText(metric.name, metric.help, std::to_string(status.*metric.member));
  }
  const std::uint64_t oldest = status.oldest_milliseconds.value_or(0);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%llu.%03u",
                static_cast<unsigned long long>(oldest / 1000),
                static_cast<unsigned>(oldest % 1000));
  text += MetricText("unshard_oldest_dirty_seconds",
                     "Age of the oldest chunk that is not published; 0 if there is none.", seconds);
  return text;
}

}  // namespace unshard
