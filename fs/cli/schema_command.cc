#include "fs/cli/schema_command.h"

#include <iostream>

#include "codec/json/writer.h"
#include "fs/cli/mount_command.h"
#include "store/dataset/schema_reading.h"
#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {
namespace {

Result<std::string> SchemaText(const std::string& source, const std::string& array) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  options.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts parts, OpenSource(options, nullptr));
  if (!array.empty()) UNSHARD_RETURN_IF_ERROR(CheckKey(array));
  UNSHARD_ASSIGN_OR_RETURN(const auto schema, ReadSchema(*parts.store, array, CallerDeadline()));
  if (schema) return WriteJson(*schema) + "\n";
  const std::string at = parts.store->Describe(array);
  return Fail(ErrorCode::kNotFound,
              array.empty()
                  ? at + ": no array, and no precomputed volume, is there; name one of "
                         "those below it that `unshard info` lists: unshard schema "
                         "SOURCE ARRAY"
                  : at + ": no such array or scale; `unshard info` lists those there are");
}

}  // namespace

int RunSchema(const std::string& source, const std::string& array) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto text = SchemaText(source, array);
  if (!text) return ReportFailure(text.error());
  std::cout << *text;
  return 0;
}

}  // namespace unshard
