// Real HTTP servers on loopback, each serving a temporary directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace unshard {

// The path of a program in tests/servers.
std::string ScriptPath(const char* name);

// A program that serves until it is ended: by the destructor, or with this process.
class ServerProcess {
 public:
  // Starts `command` and reads `lines` lines of what it prints.
  ServerProcess(const std::vector<std::string>& command, std::size_t lines);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // What it has printed; fewer lines where it has ended.
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  pid_t process_ = -1;
  std::vector<std::string> lines_;
};

// Waits until a server accepts connections at "http://127.0.0.1:port". Returns whether it does.
bool WaitForServer(const std::string& url);

// A directory in which each new file has another modification time in whole seconds. Servers make
// ETags from that time, so a replaced file gets another ETag.
class ServedDirectory {
 public:
  void Put(const std::string& key, std::string_view text);
  void Remove(const std::string& key) const { directory_.Remove(key); }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  std::int64_t puts_ = 0;
};

// nginx, as tests/servers/nginx starts it.
class Nginx {
 public:
  Nginx();

  ServedDirectory& files() { return files_; }
  // "http://127.0.0.1:port"; empty where it has not started.
  [[nodiscard]] const std::string& http() const { return http_; }
  [[nodiscard]] const std::string& https() const { return https_; }
  [[nodiscard]] std::string Authority() const { return work_.At("ca.pem"); }
  // The requests it has had, one a line.
  [[nodiscard]] std::string Requests() const;

 private:
  ServedDirectory files_;
  TemporaryDirectory work_;
  std::string http_, https_;
  std::unique_ptr<ServerProcess> process_;
};

// python3 -m http.server: HTTP/1.0, no ranges, no ETags.
class PythonServer {
 public:
  PythonServer();

  ServedDirectory& files() { return files_; }
  [[nodiscard]] const std::string& http() const { return http_; }

 private:
  ServedDirectory files_;
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
};

// tests/servers/fault_proxy in front of a server.
class FaultProxy {
 public:
  explicit FaultProxy(const std::string& upstream);

  // The faults of the next requests, one line each.
  void Break(std::string_view lines) { work_.Replace("faults", lines); }
  [[nodiscard]] const std::string& http() const { return http_; }
  // The requests since the last call, one a line.
  std::vector<std::string> TakeRequests();

 private:
  TemporaryDirectory work_;
  std::size_t taken_ = 0;  // bytes of the list of requests
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace unshard
