#include "store/object/log.h"

#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace unshard {
namespace {

// Changed before there are threads.
LogSink log_sink = LogSink::kStandardError;
LogLevel lowest_level = LogLevel::kInfo;

struct LevelName {
  const char* name;
  int priority;  // of syslog(3)
};
constexpr LevelName kLevels[] = {
    {"debug", LOG_DEBUG}, {"info", LOG_INFO}, {"warning", LOG_WARNING}, {"error", LOG_ERR}};

bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

// "2026-03-01T12:00:00.123+01:00"
std::string LocalTime() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &local);
  const long minutes = local.tm_gmtoff / 60;
  char text[128];
  std::snprintf(text, sizeof(text), "%s.%03ld%c%02ld:%02ld", date, now.tv_nsec / 1000000,
                minutes < 0 ? '-' : '+', std::labs(minutes) / 60, std::labs(minutes) % 60);
  return text;
}

// In one call, so that the lines of threads and processes do not mix. What standard error does not
// take is lost.
void WriteToStandardError(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void StartLog(LogSink sink, LogLevel level) {
  log_sink = sink;
  lowest_level = level;
  if (sink == LogSink::kSyslog) openlog("unshard", LOG_PID, LOG_DAEMON);
}

void Log(LogLevel level, std::string_view line) {
  if (level < lowest_level) return;
  const auto& [name, priority] = kLevels[static_cast<std::size_t>(level)];
  // File names may contain line breaks, which would split one message into two.
  std::string clean(line);
  std::replace_if(clean.begin(), clean.end(), IsControl, '?');
  switch (log_sink) {
    case LogSink::kStandardError:
      return WriteToStandardError("unshard: " + clean + "\n");
    case LogSink::kDatedStandardError:
      return WriteToStandardError(LocalTime() + " " + name + ": " + clean + "\n");
    case LogSink::kSyslog:
      return syslog(priority, "%s", clean.c_str());
  }
}

}  // namespace unshard
