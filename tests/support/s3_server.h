// A real S3 server for tests, on loopback, which verifies every signature.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/http/transport.h"
#include "store/s3/environment.h"
#include "tests/support/http_servers.h"
#include "tests/support/temporary_directory.h"

namespace unshard {

// versitygw, as tests/servers/versitygw starts it, with the bucket "bucket".
class Versitygw {
 public:
  Versitygw();

  // "http://127.0.0.1:port"; empty where it has not started.
  [[nodiscard]] const std::string& http() const { return http_; }
  void Put(const std::string& key, std::string_view text);
  // At once and unseen by the server, which keeps objects as files.
  void Remove(const std::string& key) const;
  // What a client of it has in its environment, with `endpoint` in place of http() where it is not
  // "".
  [[nodiscard]] Environment ClientEnvironment(const std::string& endpoint = "") const;

 private:
  void Send(const std::string& path, std::string_view body);

  TemporaryDirectory buckets_;
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
  std::shared_ptr<HttpTransport> transport_;
};

// Whether the program is there: tests/run installs it.
bool HasVersitygw();

}  // namespace unshard
