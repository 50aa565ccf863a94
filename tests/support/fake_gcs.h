// Google Cloud Storage for tests: an emulator, on loopback.
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

  // The program is not there; tests/run installs it.
  [[nodiscard]] bool is_missing() const;
  // "http://127.0.0.1:port"; empty where it has not started.
  [[nodiscard]] const std::string& http() const { return http_; }
  // With the server as the emulator, and nothing else.
  [[nodiscard]] GcsEnvironment environment() const;

  // `encoding`: the object's Content-Encoding.
  void Put(std::string_view key, std::string_view bytes, std::string_view encoding = "") const;
  void Remove(std::string_view key) const;

 private:
  std::string http_;
  std::unique_ptr<ServerProcess> process_;
};

// tests/servers/gcs_gate in front of a FakeGcs: asks for tokens, and gives them.
class GcsGate {
 public:
  explicit GcsGate(const FakeGcs& upstream);

  [[nodiscard]] const std::string& http() const { return http_; }
  // With the gate as the endpoint, and without a credential.
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
