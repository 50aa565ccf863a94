// An emulator of Google Cloud Storage, on loopback.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/gcs/environment.h"
#include "tests/support/http_servers.h"

namespace unshard {

// fake-gcs-server, as tests/servers/fake_gcs starts it, with an empty bucket "bucket".
class FakeGcs {
 public:
  FakeGcs();

  // Whether the program is missing; tests/run installs it.
  [[nodiscard]] bool is_missing() const;
  // "http://127.0.0.1:port"; empty where it has not started.
  [[nodiscard]] const std::string& http() const { return http_; }
  // An environment that names the server as the emulator, and nothing else.
  [[nodiscard]] GcsEnvironment environment() const;

  // `encoding`: the object's Content-Encoding.
  void Put(std::string_view key, std::string_view bytes, std::string_view encoding = "") const;
  void Remove(std::string_view key) const;

 private:
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
};

// tests/servers/gcs_gate: accepts requests with a valid access token only and passes them on to a
// FakeGcs. It is the token service as well.
class GcsGate {
 public:
  explicit GcsGate(const FakeGcs& upstream);

  [[nodiscard]] const std::string& http() const { return http_; }
  // An environment that names the gate as the endpoint, without a credential.
  [[nodiscard]] GcsEnvironment environment() const;
  [[nodiscard]] std::string ServiceFile() const { return work_.At("gate/service.json"); }
  [[nodiscard]] std::string UserFile() const { return work_.At("gate/user.json"); }
  // The host and port of the metadata server.
  [[nodiscard]] std::string MetadataHost() const;
  void Set(std::string_view words) { work_.Replace("gate/settings", words); }
  // The requests so far, one a line.
  [[nodiscard]] std::string Requests() const;

 private:
  TemporaryDirectory work_;
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace unshard
