#include "store/spool/attempts.h"

#include <vector>

#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "store/object/object_store.h"
#include "store/spool/state.h"

namespace unshard {
namespace {

// A publish has no more chunks than a shard, and than the spool has files.
constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMaxSequences = std::size_t{1} << 22;
constexpr std::uint64_t kMaxSequence = ~std::uint64_t{0} - 1;

std::optional<std::uint64_t> NumberOf(const std::string& name) {
  const auto number = ParseNumber<std::uint64_t>(name);
  return number && std::to_string(*number) == name ? number : std::nullopt;
}

Result<SpoolAttempt> Parse(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue value, ParseJson(text, {kMaxRecordBytes, 4}));
  const JsonCursor record(value, "attempt");
  SpoolAttempt attempt;
  UNSHARD_ASSIGN_OR_RETURN(attempt.key, record.EscapedMember("key"));
  UNSHARD_RETURN_IF_ERROR(CheckKey(attempt.key));
  UNSHARD_ASSIGN_OR_RETURN(attempt.id, record.StringMember("id"));
  UNSHARD_ASSIGN_OR_RETURN(const auto upload, record.OptionalMember("upload"));
  if (upload) {
    UNSHARD_ASSIGN_OR_RETURN(attempt.upload, upload->String());
  }
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor sequences, record.Member("sequences"));
  UNSHARD_ASSIGN_OR_RETURN(const auto numbers, sequences.Items(kMaxSequences));
  for (const JsonCursor& each : numbers) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t number, each.Unsigned(0, kMaxSequence));
    attempt.sequences.push_back(number);
  }
  return attempt;
}

Result<std::string> ReadText(FileSystem& files, const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, files.Open(path, {}));
  if (!file) return std::string();
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.size > kMaxRecordBytes) return std::string();
  std::string text(static_cast<std::size_t>(status.size), '\0');
  UNSHARD_ASSIGN_OR_RETURN(
      const std::size_t size,
      file->Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  text.resize(size);
  return text;
}

}  // namespace

std::string AttemptPath(std::uint64_t number) {
  return std::string(kAttemptsDirectory) + '/' + std::to_string(number);
}

std::string AttemptText(const SpoolAttempt& attempt) {
  JsonValue record = JsonValue::Object();
  record.Set("key", JsonValue::String(EscapeBytes(attempt.key)));
  record.Set("id", JsonValue::String(attempt.id));
  if (!attempt.upload.empty()) record.Set("upload", JsonValue::String(attempt.upload));
  std::vector<JsonValue> numbers;
  numbers.reserve(attempt.sequences.size());
  for (const std::uint64_t number : attempt.sequences) numbers.push_back(JsonValue::Number(number));
  record.Set("sequences", JsonValue::Array(std::move(numbers)));
  return WriteJson(record) + '\n';
}

std::optional<SpoolAttempt> ParseAttempt(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  auto attempt = Parse(text);
  if (!attempt) return std::nullopt;
  return *std::move(attempt);
}

Status WriteAttempt(FileSystem& files, std::uint64_t number, const SpoolAttempt& attempt) {
  OpenFlags flags;
  flags.write = flags.create = flags.truncate = true;
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                           files.Open(AttemptPath(number), flags));
  UNSHARD_RETURN_IF_ERROR(file->Write(0, AsBytes(AttemptText(attempt))));
  UNSHARD_RETURN_IF_ERROR(file->Sync());
  return files.SyncDirectory(kAttemptsDirectory);
}

Result<std::map<std::uint64_t, SpoolAttempt>> ReadAttempts(FileSystem& files) {
  std::map<std::uint64_t, SpoolAttempt> attempts;
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, kAttemptsDirectory));
  for (const std::string& name : names) {
    const auto number = NumberOf(name);
    if (!number) continue;
    UNSHARD_ASSIGN_OR_RETURN(const std::string text, ReadText(files, AttemptPath(*number)));
    auto attempt = ParseAttempt(text);
    if (attempt) {
      attempts.emplace(*number, *std::move(attempt));
    } else {
      UNSHARD_RETURN_IF_ERROR(files.Remove(AttemptPath(*number)));
    }
  }
  return attempts;
}

Status RemoveAttempts(FileSystem& files) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, kAttemptsDirectory));
  for (const std::string& name : names) {
    if (!NumberOf(name)) continue;
    UNSHARD_RETURN_IF_ERROR(files.Remove(std::string(kAttemptsDirectory) + '/' + name));
  }
  return {};
}

}  // namespace unshard
