// Real S3 servers for tests, on loopback, which verify every signature.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/http/transport.h"
#include "store/remote/environment.h"
#include "tests/support/http_servers.h"
#include "tests/support/temporary_directory.h"

namespace unshard {

// A server with the bucket "bucket", and one user.
class S3Server {
 public:
  virtual ~S3Server() = default;

  // "http://127.0.0.1:port"; empty where it has not started.
  [[nodiscard]] const std::string& http() const { return http_; }
  void Put(const std::string& key, std::string_view text);
  virtual void Remove(const std::string& key);
  // Sends a signed request; a status that is not 2xx fails the test.
  HttpResponse Ask(HttpRequest::Method method, const std::string& path, std::string_view body = "",
                   const HttpHeaders& headers = {});
  // The environment variables of a client of this server, or of `endpoint` where it is not "".
  [[nodiscard]] Environment ClientEnvironment(const std::string& endpoint = "") const;

 protected:
  explicit S3Server(std::string region);
  // The server answers at `http`: makes the bucket.
  void Started(const std::string& http);

 private:
  const std::string region_;
  std::string http_;
  const std::shared_ptr<HttpTransport> transport_;
};

// versitygw, as tests/servers/versitygw starts it.
class Versitygw final : public S3Server {
 public:
  Versitygw();
  // Removes the object's file without a request to the server.
  void Remove(const std::string& key) override { buckets_.Remove("bucket/" + key); }

 private:
  TemporaryDirectory buckets_;
  std::unique_ptr<ServerProcess> process_;
};

// Whether the program is there: tests/run installs it.
bool HasVersitygw();

// Ceph's gateway, as tests/servers/radosgw starts it: that takes some seconds.
class Radosgw final : public S3Server {
 public:
  Radosgw();
  // Whether a program of it is missing; packaging/install-dependencies installs them.
  [[nodiscard]] bool is_missing() const { return is_missing_; }

 private:
  bool is_missing_ = false;
  TemporaryDirectory work_;
  std::unique_ptr<ServerProcess> process_;
};

// s3rver, as tests/servers/s3rver starts it: it ignores the conditions of writes.
class S3rver {
 public:
  S3rver();
  // "http://127.0.0.1:port"; empty where it is not installed.
  [[nodiscard]] const std::string& http() const { return http_; }
  // The environment variables of a client of this server.
  [[nodiscard]] Environment ClientEnvironment() const;

 private:
  TemporaryDirectory work_;
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace unshard
