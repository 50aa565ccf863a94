#include "fs/cli/schema_command.h"

#include <algorithm>
#include <iostream>

#include "codec/json/writer.h"
#include "fs/cli/mount_command.h"
#include "store/dataset/schema_reading.h"
#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {
namespace {

// `given`: as `info` prints it, which may begin with a slash.
Result<std::string> SchemaText(const std::string& source, const std::string& given) {
  const std::string array = given.substr(std::min(given.find_first_not_of('/'), given.size()));
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  options.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts parts, OpenSource(options, nullptr));
  if (!array.empty()) UNSHARD_RETURN_IF_ERROR(CheckKey(array));
  UNSHARD_ASSIGN_OR_RETURN(const auto schema, ReadSchema(*parts.store, array, CallerDeadline()));
  if (schema) return WriteJson(*schema) + "\n";
  const std::string at = parts.store->Describe(array);
  return Fail(ErrorCode::kNotFound,
              array.empty() ? at + ": is neither an array nor a precomputed volume; name an array "
                                   "that `unshard info` lists below it: unshard schema SOURCE ARRAY"
                            : at + ": no such array or scale; `unshard info` lists them");
}

}  // namespace

int RunSchema(const std::string& source, const std::string& array) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto text = SchemaText(source, array);
  if (!text) {
    const int status = ReportFailure(text.error());
    return text.error().code == ErrorCode::kInvalidArgument ? kWrongArguments : status;
  }
  std::cout << *text;
  return 0;
}

}  // namespace unshard
