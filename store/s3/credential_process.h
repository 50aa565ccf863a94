// A program of the user's that prints credentials (the setting credential_process).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "store/object/deadline.h"
#include "store/s3/answers.h"

namespace unshard {

// The words of a command line, with quotes and backslashes as a shell has them, and nothing else of
// a shell; nothing where a quote is open.
std::optional<std::vector<std::string>> WordsOf(std::string_view command);

// Runs the program without a shell, and reads what it prints: at most 64 KiB. What it writes to
// standard error goes there. kPermissionDenied where it cannot be run, fails, or prints no
// credentials; killed at the deadline.
Result<ExpiringCredentials> AskProcess(std::string_view command, const Deadline& deadline);

}  // namespace unshard
