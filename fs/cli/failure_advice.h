// Explains failed requests: what a line of .unshard/errors means for the person whose program
// failed, and what to do about it. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unshard {

// A line of .unshard/errors (fs/common/error_log.h), taken apart.
struct LoggedFailure {
  std::string time;
  std::string operation;   // "close"
  std::string path;        // below the mount point, begins with "/"
  std::string errno_name;  // "EINVAL"
  std::string code;        // "invalid argument"
  std::string message;
};
// Nothing for a line of another form.
std::optional<LoggedFailure> ParseLoggedFailure(std::string_view line);

// Whether it happened on `path` (as above), or its message names that: a failed rename is logged on
// the old name, and its message may concern the new one.
bool Concerns(const LoggedFailure& failure, std::string_view path);

// Whether `later`, on the same path, failed because `earlier` did: the close of a file that could
// not be written whole.
bool IsConsequence(const LoggedFailure& later, const LoggedFailure& earlier);

// What to do about it. `source` and `mount_point` are inserted into the advice.
std::string AdviceOn(const LoggedFailure& failure, const std::string& source,
                     const std::string& mount_point);

}  // namespace unshard
