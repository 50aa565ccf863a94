#include "store/object/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

namespace unshard {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> MakeLogger(LogSink sink, LogLevel level) {
  std::shared_ptr<spdlog::sinks::sink> spdlog_sink;
  if (sink == LogSink::kSyslog) {
    spdlog_sink = std::make_shared<spdlog::sinks::syslog_sink_mt>("unshard", LOG_PID, LOG_DAEMON,
                                                                  /*enable_formatting=*/false);
  } else {
    spdlog_sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  auto logger = std::make_shared<spdlog::logger>("unshard", std::move(spdlog_sink));
  logger->set_level(SpdlogLevel(level));
  logger->set_pattern(sink == LogSink::kStandardError ? "unshard: %v"
                                                      : "%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
  logger->flush_on(spdlog::level::debug);
  return logger;
}

// The process's log; StartLog replaces it before there are threads.
std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger =
      MakeLogger(LogSink::kStandardError, LogLevel::kInfo);
  return logger;
}

bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

}  // namespace

void StartLog(LogSink sink, LogLevel level) { Logger() = MakeLogger(sink, level); }

void Log(LogLevel level, std::string_view line) {
  if (std::none_of(line.begin(), line.end(), IsControl)) {
    Logger()->log(SpdlogLevel(level), spdlog::string_view_t(line.data(), line.size()));
    return;
  }
  // File names may contain line breaks, which would split one message into two.
  std::string clean(line);
  std::replace_if(clean.begin(), clean.end(), IsControl, '?');
  Logger()->log(SpdlogLevel(level), spdlog::string_view_t(clean.data(), clean.size()));
}

}  // namespace unshard
