// Logging. codec never logs.
#pragma once

#include <string>
#include <string_view>

namespace unshard {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogSink {
  kStandardError,       // "unshard: line", for the person who runs a command
  kDatedStandardError,  // "time level: line", for a long-running process
  kSyslog,              // "line": syslog adds time, level and "unshard"
};

// Sets where lines go; before threads start. Without a call: standard error, kInfo.
void StartLog(LogSink sink, LogLevel level);
// One line. Thread-safe. Never pass a secret.
void Log(LogLevel level, std::string_view line);

inline void LogDebug(std::string_view line) { Log(LogLevel::kDebug, line); }
inline void LogInfo(std::string_view line) { Log(LogLevel::kInfo, line); }
inline void LogWarning(std::string_view line) { Log(LogLevel::kWarning, line); }
inline void LogError(std::string_view line) { Log(LogLevel::kError, line); }

}  // namespace unshard
